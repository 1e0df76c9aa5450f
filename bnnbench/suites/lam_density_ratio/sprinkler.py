"""The continuous sprinkler: a model of two causes whose posterior can be computed exactly.

Section 5.1 of the density-ratio thesis (Lam 2018). Two latent causes `z = (z1, z2)`, sprinkler and
rain, are independent a priori, `Normal(0, 2)` each. The observation is exponential with mean
`beta(z) = 3 + max(0, z1)^3 + max(0, z2)^3`, so that a large one is explained by either cause and
the posterior has two arms.

In (5.1.1) of the thesis the logarithm of the prior has the wrong sign; here it has the right one.
Only numpy and scipy, so that pages can use it.
"""

from __future__ import annotations

from functools import cache

import numpy as np

PRIOR_VARIANCE = 2.0
"""Of each latent cause."""

BASE_MEAN = 3.0
"""Mean of the observation where neither cause is positive."""

OBSERVED = (0.0, 5.0, 8.0, 12.0, 50.0)
"""The data of the thesis. Algorithms 8 and 9 print 20 for the last; everything else has 50."""

LOG_PRIOR_CONSTANT = -np.log(2 * np.pi * PRIOR_VARIANCE)
"""Logarithm of the prior's density at zero."""

REACH, CELLS = 15.0, 600
"""Of the quadrature, on `[-REACH, REACH]^2`: more than ten prior deviations to each side."""


def mean_of(z: np.ndarray) -> np.ndarray:
    """Mean `beta` of the observation given the causes.

    Args:
        z: `[..., 2]`.

    Returns:
        `[...]`.
    """
    return BASE_MEAN + (np.maximum(z, 0.0) ** 3).sum(-1)


def log_likelihood(x: float | np.ndarray, z: np.ndarray) -> np.ndarray:
    """Logarithm of `p(x|z)`, `[...]` for `z` of `[..., 2]` and `x` that broadcasts to `[...]`."""
    mean = mean_of(z)
    return -np.log(mean) - x / mean


def log_unnormalised(x: float | np.ndarray, z: np.ndarray) -> np.ndarray:
    """Logarithm of likelihood times prior without the prior's constant `1 / (4 pi)`, `[...]`.

    This is what the thesis's program compares with. With the constant it is the joint density:
    add `LOG_PRIOR_CONSTANT`.
    """
    return log_likelihood(x, z) - (z**2).sum(-1) / (2 * PRIOR_VARIANCE)


def grid(reach: float = REACH, cells: int = CELLS) -> tuple[np.ndarray, float]:
    """Points `[cells + 1, cells + 1, 2]` of a square about zero, and the area of a cell."""
    axis = np.linspace(-reach, reach, cells + 1)
    z1, z2 = np.meshgrid(axis, axis, indexing="ij")
    return np.stack([z1, z2], -1), (2 * reach / cells) ** 2


@cache
def log_evidence(x: float) -> float:
    """Logarithm of `p(x)` by quadrature, nats.

    The trapezium rule, whose ends vanish; it is off by 1e-8.
    """
    points, area = grid()
    log_joint = log_unnormalised(x, points) + LOG_PRIOR_CONSTANT
    top = log_joint.max()
    return float(top + np.log(np.exp(log_joint - top).sum() * area))


def log_posterior(x: float, z: np.ndarray) -> np.ndarray:
    """Logarithm of `p(z|x)`, normalised by quadrature, `[...]` for `z` of `[..., 2]`."""
    return log_unnormalised(x, z) + LOG_PRIOR_CONSTANT - log_evidence(x)


def greatest_log_likelihood(x: float) -> float:
    """The largest `log p(x|z)` over all causes: at the mean `x`, or at the base mean below it."""
    mean = max(x, BASE_MEAN)
    return float(-np.log(mean) - x / mean)


def posterior_samples(x: float, size: int, random: np.random.Generator) -> np.ndarray:
    """Exact independent draws from `p(z|x)` by rejection from the prior.

    A draw of the prior is kept with probability `p(x|z)` over its largest value; of the thesis's
    observations 50 has the lowest rate, some 9 %.

    Args:
        x: the observation, zero or more.
        size: how many.
        random: where they come from.

    Returns:
        `[size, 2]`.
    """
    bound, kept, missing = greatest_log_likelihood(x), [], size
    while missing > 0:
        z = np.sqrt(PRIOR_VARIANCE) * random.standard_normal((max(4 * missing, 256), 2))
        accepted = z[np.log(random.random(len(z))) < log_likelihood(x, z) - bound][:missing]
        kept.append(accepted)
        missing -= len(accepted)
    return np.concatenate(kept)
