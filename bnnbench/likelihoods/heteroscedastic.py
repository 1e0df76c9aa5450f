"""A Gaussian whose mean and log standard deviation are outputs (GVI thesis, section 5.0.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench import portable_math
from bnnbench.likelihoods.base import Likelihood
from bnnbench.types import Hyper, Prediction

MAX_LOG_SCALE = 7.0  # in absolute value: noise deviations of 0.0009 to 1097 target deviations


@dataclass(frozen=True, kw_only=True)
class Heteroscedastic(Likelihood):
    """`Normal(o_1, exp(2 l))` with `l = o_2 / sqrt(1 + (o_2 / 7)^2)`.

    The second output is the log standard deviation, squashed smoothly into ±7. Without a bound,
    `exp(-2 o_2)` times a squared error, squared again by Adam, overflows float32 for `o_2 < -20`,
    which weights drawn from a wide prior reach. A clamp would have zero gradient outside the
    bounds, so a noise that is far too small could never grow. This function has a positive
    derivative everywhere and is close to the identity near zero (1 becomes 0.99, 3 becomes 2.76).

    With weights drawn from a wide posterior the noise variance averaged over samples is enormous.
    BBB and Practical VI therefore start at a precision of 1000 instead of 10 with this likelihood.
    """

    identity_name = "bnnbench.likelihoods.heteroscedastic.Heteroscedastic"
    label: str = "heteroscedastic"
    outputs: ClassVar[int] = 2
    hyper_names: ClassVar[tuple[str, ...]] = ()

    def value(self, outputs: Tensor, targets: Tensor, hyper: Hyper) -> Tensor:
        mean, raw = outputs.unbind(3)
        return self.loss.value(mean - targets, self.precision_and_slope(raw)[0])

    def gradient(self, outputs: Tensor, targets: Tensor, weights: Tensor, hyper: Hyper) -> Tensor:
        mean, raw = outputs.unbind(3)
        precision, slope = self.precision_and_slope(raw)
        d_mean, d_log_scale = self.loss.slopes(mean - targets, precision, weights)
        return torch.stack([d_mean, slope * d_log_scale], 3)

    def curvature_roots(self, outputs: Tensor, weights: Tensor, hyper: Hyper) -> tuple[Tensor, ...]:
        precision, slope = self.precision_and_slope(outputs[..., 1])
        of_mean, of_log_scale = self.loss.curvatures(precision)
        roots = (weights * of_mean).sqrt(), slope * (weights * of_log_scale).sqrt()
        zero = torch.zeros_like(precision)
        return torch.stack([roots[0], zero], 3), torch.stack([zero, roots[1]], 3)

    def prediction(self, outputs: Tensor, hyper: Hyper) -> Prediction:
        mean, raw = outputs.unbind(3)
        return Prediction(mean, mean.new_zeros(1, 1, 1), self.variance(raw))

    def precision_and_slope(self, raw: Tensor) -> tuple[Tensor, Tensor]:
        """Return the noise precision, and the derivative of the log standard deviation.

        Args:
            raw: the second output, of any shape.

        Returns:
            Two tensors of this shape; the derivative is with respect to the second output.
        """
        log_scale, slope = _bounded_log_scale(raw)
        return (-2 * log_scale).exp(), slope

    def variance(self, raw: Tensor) -> Tensor:
        """Return the noise variance, with the same bits on every processor."""
        return portable_math.tensor_exp(2 * _bounded_log_scale(raw)[0])


def _bounded_log_scale(raw: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log standard deviation for the raw output, and its derivative."""
    root = torch.rsqrt(1 + (raw / MAX_LOG_SCALE).square())
    return raw * root, root**3
