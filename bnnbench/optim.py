"""Update rules shared by methods, as pure functions over stacked state."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.settings import Training

ADAM_EPSILON = 1e-8


@dataclass(frozen=True)
class Rule:
    """A method's step in a few words, for code that takes many of them in one go.

    Attributes:
        name: by which such code knows the step.
        tensors: the entries of the method's state, in the order of that code.
        own: up to five numbers that the step knows beside `training`.
        members: networks of every replica, side by side in each of the entries.
    """

    name: str
    tensors: tuple[str, ...]
    own: tuple[float, ...] = ()
    members: int = 1


def adam(
    parameter: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    unbias: tuple[Tensor, Tensor],
    learning_rate: float,
    betas: tuple[float, float],
) -> tuple[Tensor, Tensor, Tensor]:
    """One step of Adam (Kingma & Ba 2015, Algorithm 1).

    Args:
        parameter: `[R, P]`.
        gradient: `[R, P]`.
        first: running mean of the gradient, `[R, P]`.
        second: running mean of its square, `[R, P]`.
        unbias: `1 / (1 - beta^t)` of both averages after t steps, `[R, 1]` each.
        learning_rate: the step size.
        betas: decay of `first` and of `second`.

    Returns:
        The new `parameter`, `first` and `second`.
    """
    first = torch.lerp(gradient, first, betas[0])
    second = torch.lerp(gradient.square(), second, betas[1])
    scale = (second * unbias[1]).sqrt_().add_(ADAM_EPSILON)
    size = -learning_rate * unbias[0]
    return torch.addcdiv(parameter, size * first, scale), first, second


def adam_on(
    name: str,
    state: dict[str, Tensor],
    gradient: Tensor,
    unbias: tuple[Tensor, Tensor],
    training: Training,
) -> dict[str, Tensor]:
    """`adam` on the entry `name` of a state, with its moments in `name_first` and `name_second`.

    Returns:
        The three new entries.
    """
    names = (name, f"{name}_first", f"{name}_second")
    parameter, first, second = (state[n] for n in names)
    updated = adam(
        parameter, gradient, first, second, unbias, training.learning_rate, training.betas
    )
    return dict(zip(names, updated, strict=True))
