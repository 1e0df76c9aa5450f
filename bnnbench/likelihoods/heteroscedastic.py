"""A Gaussian whose mean and log standard deviation are both outputs (GVI thesis, section 5.0.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.likelihoods.base import Likelihood
from bnnbench.types import Hyper, Prediction

WIDEST = 7.0  # of the log standard deviation, either way: 0.0009 to 1097 of the target's own


@dataclass(frozen=True, kw_only=True)
class Heteroscedastic(Likelihood):
    """`Normal(o_1, exp(2 l))` with `l = o_2 / sqrt(1 + (o_2 / 7)^2)`.

    The second output is the log standard deviation, bent so that it stays within ±7. Without a
    bound, `exp(-2 o_2)` times a squared error, squared again by Adam, overflows float32 from
    `o_2 = -20` on, which weights drawn from a wide prior reach. A clamp would have no slope beyond
    its ends, so that a point whose noise is far too small could never say so; this has one
    everywhere, and near zero it is the identity (1 is 0.99, 3 is 2.76).

    Weights drawn from a wide posterior make the noise's average over samples enormous. BBB and
    Practical VI therefore start narrower with it, at a precision of 1000 in place of 10.
    """

    label: str = "heteroscedastic"
    outputs: ClassVar[int] = 2
    hyper_names: ClassVar[tuple[str, ...]] = ()

    def value(self, outputs: Tensor, targets: Tensor, hyper: Hyper) -> Tensor:
        mean, raw = outputs.unbind(3)
        return self.loss.value(mean - targets, _precision(_bent(raw)[0]))

    def gradient(self, outputs: Tensor, targets: Tensor, weights: Tensor, hyper: Hyper) -> Tensor:
        mean, raw = outputs.unbind(3)
        log_scale, slope = _bent(raw)
        d_mean, d_log_scale = self.loss.slopes(mean - targets, _precision(log_scale), weights)
        return torch.stack([d_mean, slope * d_log_scale], 3)

    def curvature_roots(self, outputs: Tensor, weights: Tensor, hyper: Hyper) -> tuple[Tensor, ...]:
        log_scale, slope = _bent(outputs[..., 1])
        of_mean, of_log_scale = self.loss.curvatures(_precision(log_scale))
        roots = (weights * of_mean).sqrt(), slope * (weights * of_log_scale).sqrt()
        zero = torch.zeros_like(log_scale)
        return torch.stack([roots[0], zero], 3), torch.stack([zero, roots[1]], 3)

    def prediction(self, outputs: Tensor, hyper: Hyper) -> Prediction:
        mean, raw = outputs.unbind(3)
        return Prediction(mean, mean.new_zeros(1, 1, 1), (2 * _bent(raw)[0]).exp())


def _bent(raw: Tensor) -> tuple[Tensor, Tensor]:
    """The log standard deviation for its output, and its derivative."""
    root = torch.rsqrt(1 + (raw / WIDEST).square())
    return raw * root, root**3


def _precision(log_scale: Tensor) -> Tensor:
    return (-2 * log_scale).exp()
