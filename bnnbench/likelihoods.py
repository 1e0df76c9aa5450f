"""Likelihoods: the distribution of a target given the network's outputs.

To add a likelihood, write a frozen dataclass in this file that derives from `Likelihood`, and a
YAML file in `configs/likelihood` whose `_target_` names it. Methods work with any of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from bnnbench import portable_math
from bnnbench.constraints import Checked
from bnnbench.losses import NLL, Loss
from bnnbench.types import Hyper, Prediction


@dataclass(frozen=True, kw_only=True)
class Likelihood(Checked, ABC):
    """A Gaussian around the first output, whose variance the subclass defines.

    Attributes:
        label: its name in paths and tables.
        loss: the training loss of a target under the Gaussian.
        outputs: class attribute, the number of network outputs `O`.
        hyper_names: class attribute, the hyper-parameters it adds to those of the method.
    """

    label: str
    loss: Loss = field(default_factory=NLL)
    outputs: ClassVar[int]
    hyper_names: ClassVar[tuple[str, ...]]
    key: ClassVar[str] = "likelihood"

    @abstractmethod
    def value(self, outputs: Tensor, targets: Tensor, hyper: Hyper) -> Tensor:
        """Return the loss of each point with all constants, `[S, R, B]`.

        Args:
            outputs: `[S, R, B, O]`, standardised units.
            targets: `[R, B]`.
            hyper: `[R, 1]` each.
        """

    @abstractmethod
    def gradient(self, outputs: Tensor, targets: Tensor, weights: Tensor, hyper: Hyper) -> Tensor:
        """Return the gradient of `sum_b weights[b] value[b]` at the outputs, `[S, R, B, O]`.

        Args:
            outputs: `[S, R, B, O]`, standardised units.
            targets: `[R, B]`.
            weights: `[R, B]`, zero on padding; mask / (number of real rows) gives the mean over
                the minibatch.
            hyper: `[R, 1]` each.
        """

    @abstractmethod
    def curvature_roots(self, outputs: Tensor, weights: Tensor, hyper: Hyper) -> tuple[Tensor, ...]:
        """Return square roots of the expected second derivatives, `[S, R, B, O]` per output.

        Each holds `sqrt(weights[b] E[second derivative])` for one output and zeros for the others,
        so that the diagonal of the generalised Gauss-Newton matrix is the sum of their
        `squared_backward`s (book, eq. A.13; the expectation is that of `Loss.curvatures`).
        """

    @abstractmethod
    def prediction(self, outputs: Tensor, hyper: Hyper) -> Prediction:
        """Return one Gaussian per sample and point, from outputs `[S, R, M, O]`."""


@dataclass(frozen=True, kw_only=True)
class Gaussian(Likelihood):
    """Homoscedastic noise: `Normal(output, 1 / noise_precision)` (book, eq. 4.1)."""

    identity_name = "bnnbench.likelihoods.gaussian.Gaussian"
    label: str = "gaussian"
    outputs: ClassVar[int] = 1
    hyper_names: ClassVar[tuple[str, ...]] = ("noise_precision",)

    def value(self, outputs: Tensor, targets: Tensor, hyper: Hyper) -> Tensor:
        return self.loss.value(outputs.squeeze(3) - targets, hyper["noise_precision"])

    def gradient(self, outputs: Tensor, targets: Tensor, weights: Tensor, hyper: Hyper) -> Tensor:
        error = outputs.squeeze(3) - targets
        return self.loss.mean_slope(error, hyper["noise_precision"], weights).unsqueeze(3)

    def curvature_roots(self, outputs: Tensor, weights: Tensor, hyper: Hyper) -> tuple[Tensor, ...]:
        curvature, _ = self.loss.curvatures(hyper["noise_precision"])
        return ((weights * curvature).sqrt().unsqueeze(2).expand_as(outputs),)

    def prediction(self, outputs: Tensor, hyper: Hyper) -> Prediction:
        noise = 1 / hyper["noise_precision"]
        return Prediction(outputs.squeeze(3), torch.zeros_like(noise), noise)


MAX_LOG_SCALE = 7.0  # in absolute value: noise deviations of 0.0009 to 1097 target deviations


@dataclass(frozen=True, kw_only=True)
class Heteroscedastic(Likelihood):
    """`Normal(o_1, exp(2 l))` with `l = o_2 / sqrt(1 + (o_2 / 7)^2)`.

    The second output is the log standard deviation (GVI thesis, section 5.0.1), squashed smoothly
    into ±7. Without a bound, `exp(-2 o_2)` times a squared error, squared again by Adam, overflows
    float32 for `o_2 < -20`, which weights drawn from a wide prior reach. A clamp would have zero
    gradient outside the bounds, so a noise that is far too small could never grow. This function
    has a positive derivative everywhere and is close to the identity near zero (1 becomes 0.99, 3
    becomes 2.76).

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


MIN_VARIANCE = 1e-6  # in squared target deviations


@dataclass(frozen=True, kw_only=True)
class HeteroscedasticSoftplus(Heteroscedastic):
    """`Normal(o_1, softplus(o_2) + 1e-6)`, with `softplus(x) = log(1 + exp(x))`.

    Lakshminarayanan et al., "Simple and Scalable Predictive Uncertainty Estimation using Deep
    Ensembles", NIPS 2017, section 2.2.1, footnote 2.

    The minimum bounds the precision, so a squared error times the precision, squared again by Adam,
    does not overflow float32. Unlike that of `Heteroscedastic`, the derivative is zero in float32
    for `o_2 < -86`, so that such a noise can no longer grow.
    """

    identity_name = "bnnbench.likelihoods.heteroscedastic_softplus.HeteroscedasticSoftplus"
    label: str = "heteroscedastic_softplus"

    def precision_and_slope(self, raw: Tensor) -> tuple[Tensor, Tensor]:
        precision = 1 / (functional.softplus(raw) + MIN_VARIANCE)
        return precision, 0.5 * torch.sigmoid(raw) * precision

    def variance(self, raw: Tensor) -> Tensor:
        return portable_math.softplus(raw) + MIN_VARIANCE
