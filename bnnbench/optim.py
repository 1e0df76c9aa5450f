"""Update rules that methods share, as pure functions of stacked state."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.settings import Training

ADAM_EPSILON = 1e-8


@dataclass(frozen=True)
class NativeUpdate:
    """Declares that native code implements the training step of a method.

    Attributes:
        name: of the step in native code.
        tensors: entries of the method's state, in the order that native code expects.
        constants: up to five numbers that the step needs in addition to `training`.
        members: networks per replica, concatenated in each entry.
    """

    name: str
    tensors: tuple[str, ...]
    constants: tuple[float, ...] = ()
    members: int = 1


def adam(
    parameter: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    bias_correction: tuple[Tensor, Tensor],
    learning_rate: float,
    betas: tuple[float, float],
) -> tuple[Tensor, Tensor, Tensor]:
    """Take one step of Adam (Kingma & Ba 2015, Algorithm 1).

    Args:
        parameter: `[R, P]`.
        gradient: `[R, P]`.
        first: running mean of the gradient, `[R, P]`.
        second: running mean of its square, `[R, P]`.
        bias_correction: `1 / (1 - beta^t)` of both averages after t steps, `[R, 1]` each.
        learning_rate: the step size.
        betas: decay rates of `first` and `second`.

    Returns:
        The new `parameter`, `first` and `second`.
    """
    first = torch.lerp(gradient, first, betas[0])
    second = torch.lerp(gradient.square(), second, betas[1])
    scale = (second * bias_correction[1]).sqrt_().add_(ADAM_EPSILON)
    size = -learning_rate * bias_correction[0]
    return torch.addcdiv(parameter, size * first, scale), first, second


def adam_state(name: str, value: Tensor) -> dict[str, Tensor]:
    """Return an entry of a state and its initial moments for `adam_on`."""
    zeros = torch.zeros_like(value)
    return {name: value, f"{name}_first": zeros, f"{name}_second": zeros}


def adam_on(
    name: str,
    state: dict[str, Tensor],
    gradient: Tensor,
    bias_correction: tuple[Tensor, Tensor],
    training: Training,
) -> dict[str, Tensor]:
    """Apply `adam` to the entry `name` of a state, with moments in `name_first` and `name_second`.

    Returns:
        The three new entries.
    """
    names = (name, f"{name}_first", f"{name}_second")
    parameter, first, second = (state[n] for n in names)
    updated = adam(
        parameter, gradient, first, second, bias_correction, training.learning_rate, training.betas
    )
    return dict(zip(names, updated, strict=True))
