"""Update rules that methods share, as pure functions of stacked state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bnnbench.settings import Training

ADAM_EPSILON = 1e-8

ADAM_BETAS = (0.9, 0.999)


@dataclass(frozen=True)
class NativeUpdate:
    """Declares that native code implements the training step of a method.

    Attributes:
        name: of the step in native code.
        tensors: entries of the method's state, `[R, members (P + coordinates)]` each, in the order
            that native code expects.
        constants: up to five numbers that the step needs in addition to `training`.
        members: networks per replica, concatenated in each entry.
        scalars: further entries, `[R, members]` each, which follow `tensors`.
        coordinates: numbers per network that follow its weights in each of `tensors`.
    """

    name: str
    tensors: tuple[str, ...]
    constants: tuple[float, ...] = ()
    members: int = 1
    scalars: tuple[str, ...] = ()
    coordinates: int = 0


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


def adam_entries(*names: str) -> tuple[str, ...]:
    """Return the names of entries and then of their moments, as native updates list them."""
    moments = [f"{name}_{moment}" for name in names for moment in ("first", "second")]
    return (*names, *moments)


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


class Adam:
    """Adam in place, with `epsilon` added to the root of the uncorrected second moment.

    `w -= rate sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + epsilon)`: the variant at the end of
    section 2 of Kingma and Ba (2015), and that of TensorFlow's `AdamOptimizer`. Algorithm 1 of the
    paper, and `adam`, correct `v` before adding `epsilon`.

    Args:
        parameters: `[R, P]`, updated in place.
    """

    def __init__(self, parameters: Tensor) -> None:
        self._parameters = parameters
        self.first, self.second = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.steps = 0
        self._update = torch.empty_like(parameters)

    def step(self, gradient: Tensor, rate: float, active: Tensor | None = None) -> None:
        """Take one step.

        Args:
            gradient: `[R, P]`.
            rate: learning rate.
            active: `[R, 1]`, 1, or 0 for frozen replicas; None if none is frozen.
        """
        self.steps += 1
        first, second = ADAM_BETAS
        self.first.lerp_(gradient, 1 - first)
        self.second.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        torch.sqrt(self.second, out=self._update).add_(ADAM_EPSILON)
        correction = math.sqrt(1 - second**self.steps) / (1 - first**self.steps)
        if active is None:
            self._parameters.addcdiv_(self.first, self._update, value=-rate * correction)
            return
        torch.div(self.first, self._update, out=self._update)
        self._parameters.addcmul_(self._update, active, value=-rate * correction)

    def state(self, k: int) -> dict[str, Any]:
        """Return copies of the parameters and moments of replica `k`, and the number of steps."""
        return {"steps": self.steps, "rows": [row.cpu().clone() for row in self._rows(k)]}

    def restore(self, k: int, state: Mapping[str, Any]) -> None:
        """Set replica `k` to a saved state."""
        self.steps = state["steps"]
        for row, saved in zip(self._rows(k), state["rows"], strict=True):
            row.copy_(saved)

    def _rows(self, k: int) -> tuple[Tensor, ...]:
        return self._parameters[k], self.first[k], self.second[k]
