"""Scores of a predictive mixture, in the common units of prediction and targets.

The literature reports three different log-likelihoods under one name. All are averages over the
test points; `log_likelihood` is the per-point one.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from bnnbench.types import Prediction

MAX_DENSITIES = 8_000_000  # in memory for a log-likelihood: 64 MB of float64
MAX_CRPS_COMPONENTS = 500  # of a mixture, since the number of pairs is quadratic
MAX_CRPS_PAIRS = 2_000_000  # pairs of components in memory


def log_density(prediction: Prediction, targets: Tensor) -> Tensor:
    """`log Normal(targets; loc, variance)` of every component, `[S, R, M]`."""
    variance = prediction.variance
    square = (targets - prediction.loc).square()
    return -0.5 * (square / variance + (2 * math.pi * variance).log())


def mean_over(values: Tensor, real: Tensor) -> Tensor:
    """Average `[..., R, M]` over the real rows to `[..., R]`."""
    return torch.where(real, values, 0.0).sum(-1) / real.sum(-1)


def log_likelihood(prediction: Prediction, targets: Tensor, real: Tensor) -> Tensor:
    """Mean over points of the log of the Monte Carlo average density, `[R]`.

    Reported by the papers on PBP, MC dropout and most later methods.

    Args:
        prediction: for M points by R replicas.
        targets: `[R, M]`.
        real: `[R, M]` bool, False for padding.
    """
    samples = prediction.loc.shape[0]
    sums = [
        log_density(prediction.rows(some), targets[:, some]).logsumexp(0)
        for some in _pieces(prediction)
    ]
    return mean_over(torch.cat(sums, 1) - math.log(samples), real)


def log_likelihood_joint(prediction: Prediction, targets: Tensor, real: Tensor) -> Tensor:
    """Log of the Monte Carlo average of the joint density of all N points, divided by N, `[R]`.

    Computed by the code of Vadam (Khan et al. 2018) and SLANG (Mishkin et al. 2018).
    """
    samples, points = prediction.loc.shape[0], real.sum(-1)
    sums = [
        torch.where(real[:, some], log_density(prediction.rows(some), targets[:, some]), 0.0).sum(
            -1
        )
        for some in _pieces(prediction)
    ]
    joint = torch.stack(sums).sum(0) / points * points
    return (joint.logsumexp(0) - math.log(samples)) / points


def log_likelihood_gaussian(prediction: Prediction, targets: Tensor, real: Tensor) -> Tensor:
    """Mean log density of the Gaussian with the mean and variance of the mixture, `[R]`.

    The predictive distribution of PBP (Hernández-Lobato & Adams 2015); moment matching for others.
    """
    variance = prediction.epistemic_variance() + prediction.noise_variance()
    matched = Prediction(prediction.mean()[None], torch.zeros_like(variance), variance)
    return mean_over(log_density(matched, targets)[0], real)


def rmse(prediction: Prediction, targets: Tensor, real: Tensor) -> Tensor:
    """Root mean squared error of the predictive mean (book, eq. 4.64), `[R]`."""
    return mean_over((targets - prediction.mean()).square(), real).sqrt()


def crps(prediction: Prediction, targets: Tensor, real: Tensor) -> Tensor:
    """Mean continuous ranked probability score of the mixture, `[R]`; lower is better.

    Exact for a Gaussian mixture (Grimit et al. 2006), by `scoringrules`. A mixture of more than
    `MAX_CRPS_COMPONENTS` components is thinned to every second, third, ... component.
    """
    import scoringrules

    step = math.ceil(len(prediction.loc) / MAX_CRPS_COMPONENTS)
    loc = prediction.loc[::step].movedim(0, -1).cpu().numpy()
    variance = prediction.variance.expand(prediction.loc.shape)[::step]
    scale = variance.sqrt().movedim(0, -1).cpu().numpy()
    observed, keep = targets.cpu().numpy(), real.cpu().numpy()
    chunk = max(1, MAX_CRPS_PAIRS // loc.shape[-1] ** 2)
    means = []
    for r in range(len(observed)):
        y, m, s = observed[r, keep[r]], loc[r, keep[r]], scale[r, keep[r]]
        pieces = [
            scoringrules.crps_mixnorm(y[i : i + chunk], m[i : i + chunk], s[i : i + chunk])
            for i in range(0, len(y), chunk)
        ]
        means.append(np.concatenate(pieces).mean())
    return torch.tensor(means, dtype=torch.float64)


def _pieces(prediction: Prediction) -> list[slice]:
    """Divide the rows into chunks of at most `MAX_DENSITIES` densities."""
    samples, replicas, rows = prediction.loc.shape
    most = max(1, MAX_DENSITIES // (samples * replicas))
    return [slice(first, first + most) for first in range(0, rows, most)]


METRICS = {
    "rmse": rmse,
    "log_likelihood": log_likelihood,
    "log_likelihood_joint": log_likelihood_joint,
    "log_likelihood_gaussian": log_likelihood_gaussian,
    "crps": crps,
}
