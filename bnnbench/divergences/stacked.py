"""Stack divergences, so that runs that differ only in the divergence train together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.divergences.base import Divergence, Pair

Arguments = tuple[Tensor, Tensor, Tensor, Tensor | None]


@dataclass(frozen=True)
class StackedDivergences:
    """A `Divergence` whose replicas form blocks, each with its own divergence.

    Attributes:
        members: the divergence of each block. All use the same estimator, because recording the
            objective draws random numbers for `monte_carlo` only.
        block_size: replicas per block.
    """

    members: tuple[Divergence, ...]
    block_size: int

    @property
    def estimator(self) -> str:
        """The estimator of all members."""
        return self.members[0].estimator

    @property
    def native(self) -> bool:
        """Whether the gradients of all members have native code."""
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
            block = slice(k * self.block_size, (k + 1) * self.block_size)
            # The noise of a single group broadcasts over all replicas.
            shared = epsilon is None or epsilon.shape[1] == 1
            noise = epsilon if epsilon is None or shared else epsilon[:, block]
            yield member, (loc[block], scale[block], prior_precision[block], noise)
