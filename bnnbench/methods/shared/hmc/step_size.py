"""Adaptation of each chain's step size during warm-up.

Hoffman & Gelman, "The No-U-Turn Sampler", JMLR 2014: algorithm 4 for the initial size, then
algorithm 5 (Nesterov's dual averaging).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.leapfrog import Integrator, energy_error
from bnnbench.methods.shared.hmc.metric import EuclideanMetric

T0, GAMMA, KAPPA = 10.0, 0.05, 0.75
"""Constants of dual averaging, as in the paper."""

MAX_DOUBLINGS = 60
"""Maximum number of doublings or halvings of the initial size."""


@dataclass(frozen=True)
class DualAveraging:
    """State of dual averaging after m updates, float64 `[C, R]` each.

    Attributes:
        anchor: mu of the paper, the logarithm of ten times the initial size.
        shortfall: H of the paper, a running mean of target minus actual acceptance.
        log_size: log step size of the next transition.
        log_average: log step size after the warm-up.
        updates: m.
    """

    anchor: Tensor
    shortfall: Tensor
    log_size: Tensor
    log_average: Tensor
    updates: int = 0

    @classmethod
    def from_step_size(cls, size: Tensor) -> DualAveraging:
        """Start from an initial step size, `[C, R]`."""
        log_size = size.double().log()
        return cls(log_size + math.log(10), torch.zeros_like(log_size), log_size, log_size)

    def updated(self, acceptance: Tensor, target: float) -> DualAveraging:
        """Update with the acceptance probabilities `[C, R]` of a transition."""
        m = self.updates + 1
        shortfall = torch.lerp(self.shortfall, target - acceptance, 1 / (m + T0))
        log_size = self.anchor - math.sqrt(m) / GAMMA * shortfall
        log_average = torch.lerp(self.log_average, log_size, m**-KAPPA)
        return DualAveraging(self.anchor, shortfall, log_size, log_average, m)


def initial_step_size(
    integrator: Integrator,
    position: Tensor,
    momentum: Tensor,
    factors: Tensor,
    metric: EuclideanMetric | None = None,
    guess: float = 0.1,
) -> Tensor:
    """Return step sizes `[C, R]` whose acceptance probability for one leapfrog is about 1/2.

    The size is doubled or halved until the probability crosses 1/2.

    Args:
        integrator: of the density.
        position: `[C, R, P]`.
        momentum: `[C, R, P]`, the same for every size.
        factors: `[K, C, R]`.
        metric: of the leapfrogs.
        guess: the first size tried.
    """
    size = position.new_full(position.shape[:2], guess, dtype=torch.float64)
    one = torch.ones_like(size, dtype=torch.int64)

    def is_accepted(size: Tensor) -> Tensor:
        result = integrator(position, momentum, factors, size, one, metric)
        return energy_error(momentum, result, factors) < math.log(2)

    grow = is_accepted(size)
    factor = torch.where(grow, 2.0, 0.5).double()
    active = torch.ones_like(grow)
    for _ in range(MAX_DOUBLINGS):
        size = torch.where(active, size * factor, size)
        active = active & (is_accepted(size) == grow)
        if not active.any().cpu():
            break
    return size
