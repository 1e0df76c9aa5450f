"""A Gaussian with the same noise precision, a hyper-parameter, for all points (book, eq. 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.likelihoods.base import Likelihood
from bnnbench.types import Hyper, Prediction


@dataclass(frozen=True, kw_only=True)
class Gaussian(Likelihood):
    """Homoscedastic noise: `Normal(output, 1 / noise_precision)`."""

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
