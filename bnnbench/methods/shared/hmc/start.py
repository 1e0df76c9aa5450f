"""Where chains may start beside draws from the prior: networks that are most probable."""

from __future__ import annotations

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.leapfrog import Target
from bnnbench.optim import adam


@torch.no_grad()
def most_probable(
    target: Target,
    position: Tensor,
    factors: Tensor,
    steps: int,
    learning_rate: float,
    betas: tuple[float, float],
) -> Tensor:
    """Descends the potential energy by Adam, the same number of steps for every chain.

    Args:
        target: the density.
        position: where to begin, `[C, R, P]`.
        factors: `[K, C, R]`.
        steps: how many.
        learning_rate: Adam's.
        betas: Adam's.

    Returns:
        `[C, R, P]`; a chain that is not finite at the end stands where it began.
    """
    began, first, second = position, torch.zeros_like(position), torch.zeros_like(position)
    for step in range(1, steps + 1):
        _, gradient = target(position, factors)
        rest = tuple(position.new_tensor(1 / (1 - beta**step)) for beta in betas)
        position, first, second = adam(
            position, gradient, first, second, (rest[0], rest[1]), learning_rate, betas
        )
    return torch.where(position.isfinite().all(-1, keepdim=True), position, began)
