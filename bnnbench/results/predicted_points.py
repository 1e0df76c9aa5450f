"""The predictive distributions of stored points, given by their moments.

The distribution of a point is taken as the Gaussian with its mean and variance, or, if the
logarithm of the target was fitted, as the log-normal with the mean and variance of the logarithm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd

from bnnbench.log_normal import LOG_MEAN, LOG_VARIANCE
from bnnbench.portable_math import exp, log, total_deviation

Points: TypeAlias = pd.DataFrame | Mapping[str, np.ndarray]
"""`mean`, `epistemic_variance` and `noise_variance` of each point, `[M]`, in units of the target;
with `LOG_MEAN` and `LOG_VARIANCE` if its logarithm was fitted."""


def standard_scores(points: Points, targets: np.ndarray | pd.Series) -> np.ndarray:
    """Return the standard normal score of each target under its distribution, `[M]`."""
    if LOG_MEAN in points:
        error = log(np.asarray(targets)) - points[LOG_MEAN]
        return np.asarray(error / np.sqrt(points[LOG_VARIANCE]))
    return np.asarray((targets - points["mean"]) / total_deviation(points))


def ends_from_mean(points: Points, score: float | np.ndarray) -> np.ndarray:
    """Return the value with a standard normal score, less the predictive mean, `[M]`.

    Scores `[K, 1]` give `[K, M]`.
    """
    if LOG_MEAN not in points:
        return score * total_deviation(points)
    loc, variance, mean = (np.asarray(points[name]) for name in (LOG_MEAN, LOG_VARIANCE, "mean"))
    with np.errstate(invalid="ignore"):  # both may be infinite
        return exp(loc + score * np.sqrt(variance)) - mean
