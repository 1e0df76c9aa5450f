"""Losses: the cost of one target under `Normal(mean, 1 / precision)`.

The loss is the first element of the rule of three, with the divergence and the posterior family
(GVI thesis, section 4.2). It is used for training only: predictions stay Gaussian and the metrics
do not change. To add a loss, write a frozen dataclass in this file that derives from `Loss`, and
a YAML file in `configs/loss` whose `_target_` names it.

Throughout, `error` is mean minus target, `log_scale` is `-log(precision) / 2`, and shapes
broadcast: `error` is `[S, R, B]`, `precision` `[R, 1]` or `[S, R, B]`, `weights` `[R, B]`.

The negative log-likelihood is the loss of Bayes' rule (book, eq. 4.1). The others are those of
divergences from the data to the model, which are robust to outliers. The beta-divergence (density
power divergence): Basu et al., "Robust and efficient estimation by minimising a density power
divergence", Biometrika 1998. The gamma-divergence: Fujisawa & Eguchi, "Robust parameter estimation
with a small bias against heavy contamination", Journal of Multivariate Analysis 2008. As losses:
Knoblauch, Jewson & Damoulas, "Generalized Variational Inference", 2019, and the GVI thesis,
section 4.2.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Between, Checked

LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True, kw_only=True)
class Loss(Checked, ABC):
    """A loss with closed-form derivatives."""

    label: str
    key: ClassVar[str] = "loss"

    @abstractmethod
    def value(self, error: Tensor, precision: Tensor) -> Tensor:
        """Return the loss of each point with all constants (nats, or powers of the target unit)."""

    @abstractmethod
    def mean_slope(self, error: Tensor, precision: Tensor, weights: Tensor) -> Tensor:
        """`weights` times the derivative of `value` with respect to the mean."""

    @abstractmethod
    def slopes(self, error: Tensor, precision: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """`weights` times the derivatives of `value` with respect to the mean and `log_scale`."""

    @abstractmethod
    def curvatures(self, precision: Tensor) -> tuple[Tensor, Tensor]:
        """Return the expected second derivatives with respect to the mean and to `log_scale`.

        The expectation is over targets drawn from the Gaussian itself, so the results are positive
        and do not depend on the residuals. The mixed derivative is odd in the error, so its
        expectation is zero. For the negative log-likelihood this is the Fisher information and the
        inner factor of the Gauss-Newton matrix.
        """


def log_density(error: Tensor, precision: Tensor) -> Tensor:
    """`log Normal(target; mean, 1 / precision)`."""
    return 0.5 * (torch.log(precision) - LOG_2PI - precision * error.square())


@dataclass(frozen=True, kw_only=True)
class NLL(Loss):
    """`precision error^2 / 2 + log_scale + log(2 pi) / 2`."""

    identity_name = "bnnbench.losses.nll.NLL"
    label: str = "nll"

    def value(self, error: Tensor, precision: Tensor) -> Tensor:
        return -log_density(error, precision)

    def mean_slope(self, error: Tensor, precision: Tensor, weights: Tensor) -> Tensor:
        return error * (weights * precision)

    def slopes(self, error: Tensor, precision: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        d_mean = self.mean_slope(error, precision, weights)
        return d_mean, weights - error * d_mean

    def curvatures(self, precision: Tensor) -> tuple[Tensor, Tensor]:
        return precision, torch.full_like(precision, 2.0)


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
