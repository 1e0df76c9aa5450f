"""The contract of a loss: what one target costs under `Normal(mean, 1 / precision)`.

The first argument of the rule of three, beside the divergence and the family of posteriors (GVI
thesis, section 4.2). A loss is fitted with and never scored with: predictions stay Gaussian and
metrics stay as they are. To add one: a file beside this one with a frozen dataclass that derives
from `Loss`, and a YAML in `configs/loss` whose `_target_` names it.

Everywhere `error` is mean minus target, `log_scale` is `-log(precision) / 2`, and shapes broadcast:
`error` is `[S, R, B]`, `precision` `[R, 1]` or `[S, R, B]`, `weights` `[R, B]`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.identity import no_identity

LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True, kw_only=True)
class Loss(ABC):
    """A loss with closed-form slopes."""

    label: str
    summary: str = no_identity("")

    @abstractmethod
    def value(self, error: Tensor, precision: Tensor) -> Tensor:
        """The loss of each point, constants included, in nats or powers of the target's unit."""

    @abstractmethod
    def mean_slope(self, error: Tensor, precision: Tensor, weights: Tensor) -> Tensor:
        """`weights` times the derivative of `value` with respect to the mean."""

    @abstractmethod
    def slopes(self, error: Tensor, precision: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """`weights` times the derivatives of `value` with respect to the mean and `log_scale`."""

    @abstractmethod
    def curvatures(self, precision: Tensor) -> tuple[Tensor, Tensor]:
        """Expected second derivatives with respect to the mean and `log_scale`, in that order.

        The expectation is over targets drawn from the Gaussian itself, so they are positive and
        free of the residuals. The mixed derivative is odd in the error: its expectation is zero.
        For the negative log-likelihood this is the Fisher information, and the Gauss-Newton
        matrix's inner factor.
        """


def log_density(error: Tensor, precision: Tensor) -> Tensor:
    """`log Normal(target; mean, 1 / precision)`."""
    return 0.5 * (torch.log(precision) - LOG_2PI - precision * error.square())
