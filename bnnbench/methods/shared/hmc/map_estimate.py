"""MAP estimates as initial positions of chains."""

from __future__ import annotations

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.leapfrog import Target
from bnnbench.optim import adam


@torch.no_grad()
def map_estimate(
    target: Target,
    position: Tensor,
    factors: Tensor,
    steps: int,
    learning_rate: float,
    betas: tuple[float, float],
) -> Tensor:
    """Minimise the potential energy by Adam.

    Args:
        target: the density.
        position: initial positions, `[C, R, P]`.
        factors: `[K, C, R]`.
        steps: number of steps.
        learning_rate: Adam's.
        betas: Adam's.

    Returns:
        `[C, R, P]`; the initial position of a chain whose result is not finite.
    """
    initial, first, second = position, torch.zeros_like(position), torch.zeros_like(position)
    for step in range(1, steps + 1):
        _, gradient = target(position, factors)
        correction = tuple(position.new_tensor(1 / (1 - beta**step)) for beta in betas)
        position, first, second = adam(
            position, gradient, first, second, (correction[0], correction[1]), learning_rate, betas
        )
    return torch.where(position.isfinite().all(-1, keepdim=True), position, initial)
