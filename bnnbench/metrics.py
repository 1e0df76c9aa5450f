"""Scores of a predictive mixture, in the common units of prediction and targets.

`results/metric_table.py` declares the title and the unit of each.

The literature reports three different log-likelihoods under one name. All are averages over the
test points; `log_likelihood` is the per-point one. Scores are computed on the CPU, with the same
bits on every processor.

If the logarithm of the target was fitted, the density of `y` is that of `log y` divided by `y`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bnnbench import log_normal, portable_math
from bnnbench.log_normal import LogPrediction
from bnnbench.portable_math import log_density
from bnnbench.types import Prediction

Array = NDArray[np.float64]

MAX_DENSITIES = 8_000_000  # in memory for a log-likelihood: 64 MB of float64
MAX_CRPS_COMPONENTS = 500  # of a mixture, since the number of pairs is quadratic
MAX_LOG_CRPS_COMPONENTS = 100  # of a mixture of log-normals, which is not computed in native code


def log_likelihood(prediction: Prediction, targets: Tensor, real: Tensor) -> Tensor:
    """Mean over points of the log of the Monte Carlo average density, `[R]`.

    Reported by the papers on PBP, MC dropout and most later methods.

    Args:
        prediction: for M points by R replicas.
        targets: `[R, M]`.
        real: `[R, M]` bool, False for padding.
    """
    samples = len(prediction.loc)
    return _per_replica(
        [
            float(np.concatenate([_log_sum_exp(d) - math.log(samples) for d in pieces]).mean())
            for pieces in _densities(prediction, targets, real)
        ]
    )


def log_likelihood_joint(prediction: Prediction, targets: Tensor, real: Tensor) -> Tensor:
    """Log of the Monte Carlo average of the joint density of all N points, divided by N, `[R]`.

    Computed by the code of Vadam (Khan et al. 2018) and SLANG (Mishkin et al. 2018).
    """
    samples = len(prediction.loc)
    joint = [
        np.sum([densities.sum(1) for densities in pieces], 0)
        for pieces in _densities(prediction, targets, real)
    ]
    values = [float(_log_sum_exp(one[:, None])[0]) - math.log(samples) for one in joint]
    points = real.cpu().sum(1).tolist()
    return _per_replica([value / count for value, count in zip(values, points, strict=True)])


def log_likelihood_gaussian(prediction: Prediction, targets: Tensor, real: Tensor) -> Tensor:
    """Mean log density of the Gaussian with the mean and variance of the mixture, `[R]`.

    The predictive distribution of PBP (Hernández-Lobato & Adams 2015); moment matching for others.
    If the logarithm of the target was fitted, these are its moments.
    """
    mean, variance = prediction.fitted_moments()
    gaussian = type(prediction)(mean[None], variance[None], torch.tensor(0.0))
    return log_likelihood(gaussian, targets, real)


def rmse(prediction: Prediction, targets: Tensor, real: Tensor) -> Tensor:
    """Root mean squared error of the predictive mean (book, eq. 4.64), `[R]`."""
    error, keep = _numpy(targets) - _numpy(prediction.mean()), real.cpu().numpy()
    pairs = zip(error * error, keep, strict=True)
    return _per_replica([float(squares[kept].mean()) for squares, kept in pairs]).sqrt()


def crps(prediction: Prediction, targets: Tensor, real: Tensor) -> Tensor:
    """Mean continuous ranked probability score of the mixture, `[R]`; lower is better.

    Exact for a mixture of Gaussians (Grimit et al. 2006) or log-normals. A mixture of more
    than `MAX_CRPS_COMPONENTS` or `MAX_LOG_CRPS_COMPONENTS` components is thinned to every second,
    third, ... component.
    """
    is_log = isinstance(prediction, LogPrediction)
    of_points = log_normal.crps if is_log else portable_math.mixture_crps
    most = MAX_LOG_CRPS_COMPONENTS if is_log else MAX_CRPS_COMPONENTS
    step = math.ceil(len(prediction.loc) / most)
    return _per_replica(
        [
            float(of_points(loc[::step], variance[::step], y).mean())
            for loc, variance, y in _replicas(prediction, targets, real)
        ]
    )


def _replicas(
    prediction: Prediction, targets: Tensor, real: Tensor
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield `loc [S, M_r]`, `variance [S, M_r]` and targets `[M_r]`, as fitted, of each replica."""
    loc, y, keep = _numpy(prediction.loc), _numpy(targets), real.cpu().numpy()
    variance = _numpy(prediction.variance.expand(prediction.loc.shape))
    for r, kept in enumerate(keep):
        own = y[r, kept]
        is_log = isinstance(prediction, LogPrediction)
        yield loc[:, r, kept], variance[:, r, kept], portable_math.log(own) if is_log else own


def _densities(prediction: Prediction, targets: Tensor, real: Tensor) -> Iterator[Iterator[Array]]:
    """Yield, per replica, the log densities of a few rows at a time, `[S, rows]`."""
    size = max(1, MAX_DENSITIES // len(prediction.loc))
    for loc, variance, y in _replicas(prediction, targets, real):
        jacobian = y if isinstance(prediction, LogPrediction) else np.zeros_like(y)
        yield (
            log_density(loc[:, k : k + size], variance[:, k : k + size], y[k : k + size])
            - jacobian[k : k + size]
            for k in range(0, len(y), size)
        )


def _log_sum_exp(values: Array) -> Array:
    """Return the logarithm of the sum of exponentials over the first axis."""
    top = values.max(0)
    top = np.where(np.isfinite(top), top, 0.0)
    return top + portable_math.log(portable_math.exp(values - top).sum(0))


def _per_replica(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64, device="cpu")


def _numpy(values: Tensor) -> Array:
    return values.double().cpu().numpy()


SCORE_FUNCTIONS = {
    "rmse": rmse,
    "log_likelihood": log_likelihood,
    "log_likelihood_joint": log_likelihood_joint,
    "log_likelihood_gaussian": log_likelihood_gaussian,
    "crps": crps,
}
"""The functions that compute the scores of every split, by column of `splits.csv`."""
