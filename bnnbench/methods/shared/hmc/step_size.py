"""The step size of each chain, found while it warms up.

Hoffman & Gelman, "The No-U-Turn Sampler", JMLR 2014: algorithm 4 for a first size, algorithm 5
(Nesterov's dual averaging) from there on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.leapfrog import Flow, energy_error
from bnnbench.methods.shared.hmc.metric import Metric

CALM, SHRINKAGE, DECAY = 10.0, 0.05, 0.75
"""Their t0, gamma and kappa."""

DOUBLINGS = 60
"""Of the first size, or halvings, at most."""


@dataclass(frozen=True)
class DualAveraging:
    """After m updates, float64 `[C, R]` each.

    Attributes:
        anchor: towards which log sizes shrink: their mu, ten times the first size.
        shortfall: running mean of the target acceptance minus that met: their H.
        log_size: of the next step.
        log_average: of the step after warming up.
        updates: m.
    """

    anchor: Tensor
    shortfall: Tensor
    log_size: Tensor
    log_average: Tensor
    updates: int = 0

    @classmethod
    def start(cls, size: Tensor) -> DualAveraging:
        """From a first size, `[C, R]`."""
        log_size = size.double().log()
        return cls(log_size + math.log(10), torch.zeros_like(log_size), log_size, log_size)

    def updated(self, acceptance: Tensor, target: float) -> DualAveraging:
        """After transitions that were accepted with probabilities `[C, R]`."""
        m = self.updates + 1
        share = 1 / (m + CALM)
        shortfall = torch.lerp(self.shortfall, target - acceptance, share)
        log_size = self.anchor - math.sqrt(m) / SHRINKAGE * shortfall
        log_average = torch.lerp(self.log_average, log_size, m**-DECAY)
        return DualAveraging(self.anchor, shortfall, log_size, log_average, m)


def first_size(
    flow: Flow,
    position: Tensor,
    momentum: Tensor,
    factors: Tensor,
    metric: Metric | None = None,
    guess: float = 0.1,
) -> Tensor:
    """A size with which one leapfrog is accepted with a probability of about a half, `[C, R]`.

    Doubled or halved until the probability crosses a half.

    Args:
        flow: of the density.
        position: `[C, R, P]`.
        momentum: `[C, R, P]`, the same for every size.
        factors: `[K, C, R]`.
        metric: of the leapfrogs.
        guess: the first size tried.
    """
    size = position.new_full(position.shape[:2], guess, dtype=torch.float64)
    one = torch.ones_like(size, dtype=torch.int64)

    def likely(size: Tensor) -> Tensor:
        ended = flow(position, momentum, factors, size, one, metric)
        return energy_error(momentum, ended, factors) < math.log(2)

    grow = likely(size)
    factor = torch.where(grow, 2.0, 0.5).double()
    going = torch.ones_like(grow)
    for _ in range(DOUBLINGS):
        size = torch.where(going, size * factor, size)
        going = going & (likely(size) == grow)
        if not going.any():
            break
    return size
