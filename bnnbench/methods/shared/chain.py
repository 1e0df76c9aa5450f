"""What is kept of the way that networks go while they are trained."""

from __future__ import annotations

import math
from bisect import bisect_right

import torch
from torch import Tensor


class Chain:
    """Copies of the weights after some steps of a fit.

    Args:
        kept: rising numbers of steps, from 1.
        start: `[R, P]`, the weights before the first.
    """

    def __init__(self, kept: range, start: Tensor) -> None:
        self._kept = kept
        self._copies = start.new_empty(len(kept), *start.shape)
        self._visited: list[int] = []

    def after(self, step: int, weights: Tensor) -> None:
        """Copies them if this step is one of those."""
        if step in self._kept:
            place = self._kept.index(step)
            self._copies[place] = weights
            self._visited.append(place)

    def until_next(self, taken: int) -> float:
        """Steps until weights are copied again, after so many; infinity if they are not."""
        place = bisect_right(self._kept, taken)
        return self._kept[place] - taken if place < len(self._kept) else math.inf

    def settle(self, alive: Tensor, before: Tensor) -> None:
        """At the end of an epoch, of replicas that are not `alive` `[R]`, keeps those of before."""
        for place in self._visited:
            self._copies[place] = torch.where(alive[:, None], self._copies[place], before)
        self._visited.clear()

    @property
    def copies(self) -> Tensor:
        """`[R, K, P]`."""
        return self._copies.transpose(0, 1)
