"""Priors over one weight.

The hyper-parameter `prior_precision` sets the width of each. Every divergence has a closed form
or a quadrature for the Gaussian prior; the others need `divergence.estimator=monte_carlo`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Between, Checked

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, kw_only=True)
class Prior(Checked, ABC):
    """A density over one weight, centred at zero."""

    label: str
    key: ClassVar[str] = "prior"

    @abstractmethod
    def log_density(self, weights: Tensor, precision: Tensor) -> Tensor:
        """Return the log density of each weight.

        Args:
            weights: `[S, R, P]`.
            precision: `[R, 1]`, the hyper-parameter `prior_precision`.

        Returns:
            `[S, R, P]`, nats.
        """


@dataclass(frozen=True, kw_only=True)
class GaussianPrior(Prior):
    """`Normal(0, 1 / precision)` (book, section 4.3)."""

    identity_name = "bnnbench.divergences.priors.Gaussian"
    label: str = "gaussian"

    def log_density(self, weights: Tensor, precision: Tensor) -> Tensor:
        return 0.5 * (precision.log() - precision * weights.square()) - LOG_ROOT_TWO_PI


@dataclass(frozen=True, kw_only=True)
class LaplacePrior(Prior):
    """The Laplace density of variance `1 / precision`: its scale is `1 / sqrt(2 precision)`."""

    identity_name = "bnnbench.divergences.priors.Laplace"
    label: str = "laplace"

    def log_density(self, weights: Tensor, precision: Tensor) -> Tensor:
        rate = (2 * precision).sqrt()
        return (0.5 * rate).log() - rate * weights.abs()


@dataclass(frozen=True, kw_only=True)
class ScaleMixture(Prior):
    """A mixture of a wide and a narrow Gaussian: most weights near zero, a few large.

    `fraction * Normal(0, s^2) + (1 - fraction) * Normal(0, (ratio * s)^2)` with
    `s^2 = 1 / precision` (Blundell et al., 2015, eq. 7). The book's example of a prior that needs
    eq. 4.8.

    Attributes:
        fraction: weight of the wide component, between 0 and 1.
        ratio: standard deviation of the narrow component over that of the wide one, below 1.
    """

    identity_name = "bnnbench.divergences.priors.ScaleMixture"
    label: str = "scale_mixture"
    fraction: Annotated[float, Between(0, 1)] = 0.5
    ratio: Annotated[float, Between(0, 1)] = 0.1

    def log_density(self, weights: Tensor, precision: Tensor) -> Tensor:
        wide, narrow = GaussianPrior(), precision / self.ratio**2
        return torch.logaddexp(
            math.log(self.fraction) + wide.log_density(weights, precision),
            math.log1p(-self.fraction) + wide.log_density(weights, narrow),
        )
