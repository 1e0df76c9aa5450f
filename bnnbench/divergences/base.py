"""The contract of a divergence between a diagonal Gaussian and an isotropic Gaussian prior.

To add one: a file beside this one with a frozen dataclass that implements `value`, and a YAML
in `configs/divergence` whose `_target_` names it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Divergence(ABC):
    """A divergence from `Normal(loc, scale^2)` to `Normal(0, 1 / prior_precision)`."""

    label: str
    summary: str = ""

    @abstractmethod
    def value(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Tensor:
        """Summed over the weights.

        Args:
            loc: `[R, P]`.
            scale: `[R, P]`, standard deviations.
            prior_precision: `[R, 1]`.

        Returns:
            `[R]`.
        """

    def gradient(
        self, loc: Tensor, scale: Tensor, prior_precision: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Gradients with respect to `loc` and `scale`, `[R, P]` each.

        By autograd; a divergence with a closed form may override it for speed.
        """
        with torch.enable_grad():
            loc, scale = loc.detach().requires_grad_(), scale.detach().requires_grad_()
            total = self.value(loc, scale, prior_precision).sum()
            d_loc, d_scale = torch.autograd.grad(total, (loc, scale))
        return d_loc, d_scale
