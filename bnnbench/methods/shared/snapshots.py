"""Copies of the weights during training."""

from __future__ import annotations

import math
from bisect import bisect_right

import torch
from torch import Tensor


class Snapshots:
    """Copies of the weights after selected steps of a fit.

    Args:
        steps: increasing step numbers, from 1.
        initial: `[R, P]`, the initial weights.
    """

    def __init__(self, steps: range, initial: Tensor) -> None:
        self._steps = steps
        self._copies = initial.new_empty(len(steps), *initial.shape)
        self._new: list[int] = []

    def record(self, step: int, weights: Tensor) -> None:
        """Copy the weights if this step is selected."""
        if step in self._steps:
            index = self._steps.index(step)
            self._copies[index] = weights
            self._new.append(index)

    def steps_until_next(self, step: int) -> float:
        """Return the number of steps from `step` to the next copy; infinity if there is none."""
        index = bisect_right(self._steps, step)
        return self._steps[index] - step if index < len(self._steps) else math.inf

    def end_epoch(self, alive: Tensor, before: Tensor) -> None:
        """Replace this epoch's copies of replicas that are not `alive` `[R]` by `before`."""
        for index in self._new:
            self._copies[index] = torch.where(alive[:, None], self._copies[index], before)
        self._new.clear()

    @property
    def weights(self) -> Tensor:
        """`[R, K, P]`."""
        return self._copies.transpose(0, 1)
