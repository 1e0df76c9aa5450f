"""Predictions of a positive target by Gaussian mixtures of its logarithm: mixtures of log-normals.

If `log y` has the component `Normal(m, e + n)`, where `f ~ Normal(m, e)` is the output of the
network and `n` the variance of the noise, then `y` has the mean `exp(m + (e + n) / 2)`. All
functions give the same bits on every processor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bnnbench.portable_math import Array, exp, normal_cdf
from bnnbench.types import Prediction

if TYPE_CHECKING:
    from torch import Tensor


class LogPrediction(Prediction):
    """A mixture of log-normals for each test point.

    The attributes and `fitted_moments` are those of the logarithm; the other methods return moments
    of the target, infinite or NaN where they exceed float64.
    """

    def mean(self) -> Tensor:
        return self._moment(0)

    def epistemic_variance(self) -> Tensor:
        return self._moment(1)

    def noise_variance(self) -> Tensor:
        return self._moment(2)

    def fitted_moments(self) -> tuple[Tensor, Tensor]:
        return Prediction(self.loc, self.epistemic, self.noise).fitted_moments()

    def _moment(self, which: int) -> Tensor:
        import torch

        parts = (part.double().cpu().numpy() for part in (self.loc, self.epistemic, self.noise))
        return torch.from_numpy(moments(*parts)[which]).to(self.loc.device)


def moments(loc: Array, epistemic: Array, noise: Array) -> tuple[Array, Array, Array]:
    """Return mean, epistemic and noise variance of mixtures of log-normals, `[...]` each.

    The law of total variance: the epistemic variance is that of `E[y | f] = exp(f + n / 2)`, the
    noise variance the mean of `Var[y | f] = exp(2 f + n) (exp(n) - 1)`.

    Args:
        loc: means of the logarithms, `[S, ...]`.
        epistemic: variances inside the components, broadcastable to `loc`.
        noise: variances of the noise, broadcastable to `loc`.
    """
    with np.errstate(all="ignore"):  # an overflow is reported as a score that is not finite
        of_components = exp(loc + 0.5 * (epistemic + noise))
        mean = _mean(of_components)
        squares, spread = of_components * of_components, exp(epistemic)
        between = _mean((of_components - mean) * (of_components - mean))
        inside = _mean(squares * (spread - 1))
        return mean, between + inside, _mean(squares * spread * (exp(noise) - 1))


def _mean(values: Array) -> Array:
    total: Array = np.add.reduce(values, axis=0)
    return total / len(values)


def crps(loc: Array, variance: Array, logs: Array) -> Array:
    """Return the continuous ranked probability scores of mixtures of log-normals, `[M]`.

    `E|X - y| - E|X - X'| / 2 = y - 2 E min(X, y) + E min(X, X')`, since `|a - b| = a + b - 2 min(a,
    b)`; the large means of heavy tails cancel in this form.

    Args:
        loc: means of the logarithms of the components, `[S, M]`.
        variance: their variances, `[S, M]`.
        logs: logarithms of the targets, `[M]`.
    """
    with np.errstate(all="ignore"):
        near = _mean_minimum(loc, variance, logs, np.zeros_like(logs))
        pairs = sum(_mean_minimum(loc, variance, *one) for one in zip(loc, variance, strict=True))
        return exp(logs) - 2 * near + pairs / len(loc)


def _mean_minimum(loc: Array, variance: Array, loc_2: Array, variance_2: Array) -> Array:
    """Return `E min(X, Y)` of a mixture and another log-normal, given moments of the logarithms."""
    distance, scale = loc_2 - loc, np.sqrt(variance + variance_2)
    return _mean(
        exp(loc + 0.5 * variance) * normal_cdf((distance - variance) / scale)
        + exp(loc_2 + 0.5 * variance_2) * normal_cdf((-distance - variance_2) / scale)
    )
