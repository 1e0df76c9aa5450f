"""Several divergences over one stack, so that runs that differ in nothing else train together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.divergences.base import Divergence, Pair

Arguments = tuple[Tensor, Tensor, Tensor, Tensor | None]


@dataclass(frozen=True)
class StackedDivergences:
    """Stands for one `Divergence`: the replicas lie in blocks, each with a divergence of its own.

    Attributes:
        members: the divergence of each block, with its weight and prior; of one estimator, since
            a recorded objective draws random numbers for samples only.
        each: replicas of a block.
    """

    members: tuple[Divergence, ...]
    each: int

    @property
    def estimator(self) -> str:
        """That of every member."""
        return self.members[0].estimator

    @property
    def native(self) -> bool:
        """Whether that of every member is."""
        return all(member.native for member in self.members)

    def value(
        self, loc: Tensor, scale: Tensor, prior_precision: Tensor, epsilon: Tensor | None = None
    ) -> Tensor:
        """As `Divergence.value`, block by block: `[R]`."""
        blocks = self._blocks(loc, scale, prior_precision, epsilon)
        return torch.cat([member.value(*block) for member, block in blocks])

    def gradient(
        self, loc: Tensor, scale: Tensor, prior_precision: Tensor, epsilon: Tensor | None = None
    ) -> Pair:
        """As `Divergence.gradient`, block by block: `[R, P]` each."""
        blocks = self._blocks(loc, scale, prior_precision, epsilon)
        pairs = [member.gradient(*block) for member, block in blocks]
        d_loc, d_scale = zip(*pairs, strict=True)
        return torch.cat(d_loc), torch.cat(d_scale)

    def _blocks(
        self, loc: Tensor, scale: Tensor, prior_precision: Tensor, epsilon: Tensor | None
    ) -> Iterator[tuple[Divergence, Arguments]]:
        for k, member in enumerate(self.members):
            own = slice(k * self.each, (k + 1) * self.each)
            # Noise of one group of replicas broadcasts over them all.
            shared = epsilon is None or epsilon.shape[1] == 1
            noise = epsilon if epsilon is None or shared else epsilon[:, own]
            yield member, (loc[own], scale[own], prior_precision[own], noise)
