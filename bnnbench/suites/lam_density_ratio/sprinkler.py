"""The continuous sprinkler: a model with two causes and an exactly computable posterior.

Section 5.1 of the density-ratio thesis (Lam 2018). Two latent causes `z = (z1, z2)`, sprinkler and
rain, are independent a priori, `Normal(0, 2)` each. The observation is exponential with mean
`beta(z) = 3 + max(0, z1)^3 + max(0, z2)^3`, so that a large observation is explained by either
cause and the posterior has two arms.

(5.1.1) of the thesis prints the logarithm of the prior with the wrong sign. This module imports
numpy only, so that pages can use it.
"""

from __future__ import annotations

from functools import cache

import numpy as np

PRIOR_VARIANCE = 2.0
"""Prior variance of each cause."""

BASE_MEAN = 3.0
"""Mean of the observation if neither cause is positive."""

OBSERVATIONS = (0.0, 5.0, 8.0, 12.0, 50.0)
"""The data of the thesis. Algorithms 8 and 9 print 20 for the last; everything else has 50."""

LOG_PRIOR_CONSTANT = -np.log(2 * np.pi * PRIOR_VARIANCE)
"""Logarithm of the prior's density at zero."""

GRID_LIMIT, GRID_CELLS = 15.0, 600
"""The quadrature covers `[-GRID_LIMIT, GRID_LIMIT]^2`, over ten prior deviations to each side."""


def observation_mean(z: np.ndarray) -> np.ndarray:
    """Return the mean `beta` `[...]` of the observation given the causes `[..., 2]`."""
    return np.asarray(BASE_MEAN + (np.maximum(z, 0.0) ** 3).sum(-1))


def log_likelihood(x: float | np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return `log p(x|z)`, `[...]` for `z` of `[..., 2]` and `x` that broadcasts to `[...]`."""
    mean = observation_mean(z)
    return np.asarray(-np.log(mean) - x / mean)


def log_unnormalised(x: float | np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the log of likelihood times prior without the prior's constant `1 / (4 pi)`, `[...]`.

    The thesis's programs use this form. Add `LOG_PRIOR_CONSTANT` for the joint density.
    """
    return np.asarray(log_likelihood(x, z) - (z**2).sum(-1) / (2 * PRIOR_VARIANCE))


def grid(limit: float = GRID_LIMIT, cells: int = GRID_CELLS) -> tuple[np.ndarray, float]:
    """Return points `[cells + 1, cells + 1, 2]` of a square about zero and the area of a cell."""
    axis = np.linspace(-limit, limit, cells + 1)
    z1, z2 = np.meshgrid(axis, axis, indexing="ij")
    return np.stack([z1, z2], -1), (2 * limit / cells) ** 2


@cache
def log_evidence(x: float) -> float:
    """Return `log p(x)` in nats by the trapezium rule; the error is 1e-8."""
    points, area = grid()
    log_joint = log_unnormalised(x, points) + LOG_PRIOR_CONSTANT
    top = log_joint.max()
    return float(top + np.log(np.exp(log_joint - top).sum() * area))


def log_posterior(x: float, z: np.ndarray) -> np.ndarray:
    """Return `log p(z|x)`, normalised by quadrature, `[...]` for `z` of `[..., 2]`."""
    return np.asarray(log_unnormalised(x, z) + LOG_PRIOR_CONSTANT - log_evidence(x))
