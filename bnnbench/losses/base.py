"""The interface of a loss: the cost of one target under `Normal(mean, 1 / precision)`.

The loss is the first element of the rule of three, with the divergence and the posterior family
(GVI thesis, section 4.2). It is used for training only: predictions stay Gaussian and the metrics
do not change. To add a loss, write a frozen dataclass in this folder that derives from `Loss`, and
a YAML file in `configs/loss` whose `_target_` names it.

Throughout, `error` is mean minus target, `log_scale` is `-log(precision) / 2`, and shapes
broadcast: `error` is `[S, R, B]`, `precision` `[R, 1]` or `[S, R, B]`, `weights` `[R, B]`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Checked

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
