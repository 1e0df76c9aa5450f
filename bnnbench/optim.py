"""Update rules shared by methods, as pure functions over stacked state."""

from __future__ import annotations

import torch
from torch import Tensor

ADAM_EPSILON = 1e-8


def adam(
    parameter: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    step: Tensor,
    learning_rate: float,
    betas: tuple[float, float],
) -> tuple[Tensor, Tensor, Tensor]:
    """One step of Adam (Kingma & Ba 2015, Algorithm 1).

    Args:
        parameter: `[R, P]`.
        gradient: `[R, P]`.
        first: running mean of the gradient, `[R, P]`.
        second: running mean of its square, `[R, P]`.
        step: steps taken by each replica including this one, `[R, 1]`.
        learning_rate: the step size.
        betas: decay of `first` and of `second`.

    Returns:
        The new `parameter`, `first` and `second`.
    """
    first = torch.lerp(gradient, first, betas[0])
    second = torch.lerp(gradient.square(), second, betas[1])
    size = -learning_rate / (1 - betas[0] ** step)
    scale = (second / (1 - betas[1] ** step)).sqrt_().add_(ADAM_EPSILON)
    return torch.addcdiv(parameter, size * first, scale), first, second
