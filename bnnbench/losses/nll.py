"""The negative log-likelihood, the loss of Bayes' rule (book, eq. 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.losses.base import Loss, log_density


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
