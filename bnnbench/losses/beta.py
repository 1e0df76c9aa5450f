"""The loss of the beta-divergence (density power divergence) from the data to the model.

Basu et al., "Robust and efficient estimation by minimising a density power divergence",
Biometrika 1998; as a loss: Knoblauch, Jewson & Damoulas, "Generalized Variational Inference",
2019, and the GVI thesis, section 4.2.
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
class Beta(Loss):
    """`-p^(beta - 1) / (beta - 1) + (integral of p^beta) / beta`, p the target's density.

    The derivative with respect to the mean is that of the negative log-likelihood times
    `p^(beta - 1)`, which vanishes for targets far from their mean, so outliers have little
    influence. For a Gaussian the integral is
    `(precision / (2 pi))^((beta - 1) / 2) / sqrt(beta)`. As beta approaches 1 the loss tends to the
    negative log-likelihood plus `1 - 1 / (beta - 1)`. It depends on the unit of the target, here
    its standard deviation on the training rows.

    Attributes:
        beta: greater than 1; larger values reduce the influence of outliers.
    """

    identity_name = "bnnbench.losses.beta.Beta"
    label: str = "beta"
    beta: Annotated[float, Between(1)]

    def value(self, error: Tensor, precision: Tensor) -> Tensor:
        power = self._power(error, precision)
        return self._integral(precision) / self.beta - power / (self.beta - 1)

    def mean_slope(self, error: Tensor, precision: Tensor, weights: Tensor) -> Tensor:
        return error * (weights * precision) * self._power(error, precision)

    def slopes(self, error: Tensor, precision: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        power = self._power(error, precision)
        d_mean = error * (weights * precision) * power
        # The integral is proportional to exp(-(beta - 1) log_scale).
        pull = (self.beta - 1) / self.beta * self._integral(precision)
        return d_mean, weights * (power - pull) - error * d_mean

    def curvatures(self, precision: Tensor) -> tuple[Tensor, Tensor]:
        """Return the integral of `p^beta s s'`, with s the score.

        `p^beta` is proportional to a Gaussian of beta times p's precision, under which the squared
        standardised error has mean `1 / beta` and mean square `3 / beta^2`.
        """
        integral, b = self._integral(precision), self.beta
        return integral * precision / b, integral * (3 / b**2 - 2 / b + 1)

    def _power(self, error: Tensor, precision: Tensor) -> Tensor:
        """`p^(beta - 1)`."""
        return ((self.beta - 1) * log_density(error, precision)).exp()

    def _integral(self, precision: Tensor) -> Tensor:
        """Integral of `p^beta` over the target."""
        log = (self.beta - 1) * (torch.log(precision) - LOG_2PI) - math.log(self.beta)
        return (0.5 * log).exp()
