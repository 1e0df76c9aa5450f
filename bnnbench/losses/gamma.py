"""The loss of the gamma-divergence from the data to the model.

Fujisawa & Eguchi, "Robust parameter estimation with a small bias against heavy contamination",
Journal of Multivariate Analysis 2008; as a loss: Knoblauch, Jewson & Damoulas, "Generalized
Variational Inference", 2019, and the GVI thesis, section 4.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from bnnbench.constraints import Between
from bnnbench.losses.base import LOG_2PI, Loss, log_density


@dataclass(frozen=True, kw_only=True)
class Gamma(Loss):
    """`-gamma / (gamma - 1) (p / (integral of p^gamma)^(1 / gamma))^(gamma - 1)`.

    p is the target's density, and for a Gaussian the integral is
    `(precision / (2 pi))^((gamma - 1) / 2) / sqrt(gamma)`. Like `Beta`, but with the integral as a
    factor instead of a term. As gamma approaches 1 the loss tends to the negative log-likelihood
    minus `gamma / (gamma - 1)`.

    Attributes:
        gamma: greater than 1; larger values reduce the influence of outliers.
    """

    identity_name = "bnnbench.losses.gamma.Gamma"
    label: str = "gamma"
    gamma: Annotated[float, Between(1)]

    def value(self, error: Tensor, precision: Tensor) -> Tensor:
        return -self.gamma / (self.gamma - 1) * self._power(error, precision)

    def mean_slope(self, error: Tensor, precision: Tensor, weights: Tensor) -> Tensor:
        return error * (weights * precision) * (self.gamma * self._power(error, precision))

    def slopes(self, error: Tensor, precision: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        power = self._power(error, precision)
        d_mean = error * (weights * precision) * (self.gamma * power)
        return d_mean, weights * power - error * d_mean

    def curvatures(self, precision: Tensor) -> tuple[Tensor, Tensor]:
        """Return `gamma (integral of p^gamma)^(1 / gamma)` times the variance of the score.

        The variance is under the normalised `p^gamma`, a Gaussian of gamma times p's precision.
        """
        norm = self._log_norm(precision).exp()
        return norm * precision, norm * (2 / self.gamma)

    def _power(self, error: Tensor, precision: Tensor) -> Tensor:
        """The fraction in the loss to the power of `gamma - 1`."""
        fraction = log_density(error, precision) - self._log_norm(precision)
        return ((self.gamma - 1) * fraction).exp()

    def _log_norm(self, precision: Tensor) -> Tensor:
        """Log of the integral of `p^gamma` over the target, divided by gamma."""
        log = (self.gamma - 1) * (torch.log(precision) - LOG_2PI) - math.log(self.gamma)
        return log / (2 * self.gamma)
