"""Bounds of log p(x) from importance weights, and quantities of posteriors (book, 5.2 to 5.4)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

BOUND_SIZES = (5, 50)
"""Numbers of samples of the importance-weighted bounds that are reported."""

ACTIVE_VARIANCE = 0.01
"""Variance over images of the mean of an active latent variable (Burda et al. 2016)."""


def importance_weighted_bound(log_weights: Tensor, samples: int) -> Tensor:
    """Return the mean over groups of the bound with `samples` samples (5.14).

    Args:
        log_weights: `log p(x, z) - log q(z|x)`, `[R, T, B]`.
        samples: size of a group; the last T mod samples weights are not used. With 1 the result
            is the ELBO.

    Returns:
        `[R, B]`.
    """
    groups = log_weights.shape[1] // samples
    grouped = torch.unflatten(log_weights[:, : groups * samples], 1, (groups, samples))
    return (grouped.logsumexp(2) - math.log(samples)).mean(1)


def all_bounds(log_weights: Tensor) -> dict[str, Tensor]:
    """Return the ELBO and the bounds with `BOUND_SIZES` and with all samples, `[R, B]` each."""
    samples = log_weights.shape[1]
    sizes = {"elbo": 1, **{f"iwae_{k}": k for k in BOUND_SIZES if k < samples}, "log_p": samples}
    return {name: importance_weighted_bound(log_weights, k) for name, k in sizes.items()}


def count_active_units(means: np.ndarray) -> int:
    """Return the number of active latent variables; `means` of q(z|x) are `[N, d]`."""
    return int((means.var(0) > ACTIVE_VARIANCE).sum())


def probe_predictions(codes: np.ndarray, labels: np.ndarray, test_codes: np.ndarray) -> np.ndarray:
    """Return the classes that a linear classifier trained on codes predicts for test codes.

    Both are standardised with the statistics of the training codes, because the classifier's
    penalty depends on their scale.
    """
    return np.asarray(linear_probe().fit(codes, labels).predict(test_codes))


def linear_probe() -> Pipeline:
    """Return a linear classifier that standardises its inputs."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
