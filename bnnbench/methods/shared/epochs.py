"""Whole epochs of a stack in one call of native code, for methods whose step it knows by a rule.

The random numbers are those that the trainer draws step by step, so that a fit differs by
float32's rounding alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Protocol

import torch
from torch import Tensor

from bnnbench.methods.shared.chain import Chain
from bnnbench.methods.shared.contract import FitTask
from bnnbench.native.steps import Walk
from bnnbench.nn import MLP
from bnnbench.optim import Rule
from bnnbench.random_streams import Request, Streams
from bnnbench.types import Hyper

State = dict[str, Tensor]
Noise = tuple[Tensor, ...]

NOISE_AT_ONCE = 4_000_000  # numbers of all groups: 16 MB of float32


class Noisy(Protocol):
    """What whole epochs ask of a method; `StochasticMethod` says what each function is for."""

    def share(self, index: int, batches: int) -> float: ...

    def hyper_of(self, state: State, hyper: Hyper) -> Hyper: ...

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise: ...


def native_epochs(
    method: Noisy, rule: Rule, task: FitTask, state: State, alive: Tensor, chain: Chain
) -> Iterator[tuple[State, Tensor]]:
    """The state after each epoch, and `[R]` which replicas are finite so far.

    Args:
        method: draws the noise.
        rule: the method's step.
        task: what is fitted.
        state: where the replicas start.
        alive: `[R]`, which of them are finite.
        chain: is told of the weights.
    """
    data, streams, size, taken = task.data, task.streams, task.batch_size, 0
    rows = data.inputs.shape[1]
    starts = range(0, rows, size)
    sizes = [min(size, rows - start) for start in starts]
    asked = {count: _needs(method, task, count) for count in {*sizes}}
    needs = [asked[count] for count in sizes]
    shares = [method.share(index, len(starts)) for index in range(len(starts))]
    state = {name: value.clone() for name, value in state.items()}
    hyper = method.hyper_of(state, task.hyper)
    walk = Walk(rule, task.mlp, data, hyper, task.training, shares, state, alive,
                streams.groups)  # fmt: skip
    for epoch in range(task.epochs):
        before, were = {name: value.clone() for name, value in state.items()}, alive.clone()
        order = torch.argsort(streams.uniform(1, rows)[0], dim=1, stable=True)
        first = 0
        while first < len(starts):
            steps = _fitting(needs[first:], NOISE_AT_ONCE // streams.size)
            drawn = streams.ahead([one for step in steps for one in step])
            noise = drawn.addresses.view(len(steps), len(steps[0]), streams.size)
            while len(noise):
                most = int(min(len(noise), chain.until_next(taken)))
                walk.take(epoch, first, order, noise[:most])
                noise, first, taken = noise[most:], first + most, taken + most
                chain.after(taken, state["loc"])
        if not torch.equal(alive, were):
            for name, value in state.items():
                value.copy_(torch.where(alive[:, None], value, before[name]))
        chain.settle(alive, before["loc"])
        yield state, alive


def _needs(method: Noisy, task: FitTask, rows: int) -> list[Request]:
    """What the step of a minibatch of so many rows draws."""
    samples = task.training.samples
    return task.streams.needs(lambda s: method.sample_noise(task.mlp, rows, samples, s))


def _fitting(needs: Sequence[list[Request]], room: int) -> Sequence[list[Request]]:
    """The first steps, as many as there is room for the numbers of what they draw: one at least."""
    numbers = accumulate(sum(math.prod(shape) for _, shape in step) for step in needs)
    return needs[: max(1, sum(so_far <= room for so_far in numbers))]
