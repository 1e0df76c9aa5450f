"""The Kullback-Leibler divergence KL(q || prior): book, eq. 4.7."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from bnnbench.divergences.base import Divergence


@dataclass(frozen=True, kw_only=True)
class KL(Divergence):
    """`sum log(sigma_p / sigma) + (loc^2 + sigma^2 - sigma_p^2) / (2 sigma_p^2)`."""

    def value(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Tensor:
        ratio = prior_precision * scale.square()
        return 0.5 * (prior_precision * loc.square() + ratio - 1 - ratio.log()).sum(1)

    def gradient(
        self, loc: Tensor, scale: Tensor, prior_precision: Tensor
    ) -> tuple[Tensor, Tensor]:
        return prior_precision * loc, prior_precision * scale - scale.reciprocal()
