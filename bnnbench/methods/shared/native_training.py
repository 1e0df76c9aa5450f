"""Training of whole epochs in native code, for methods that have a `NativeUpdate`.

Uses the same random numbers as the torch trainer, so that results differ only by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from bnnbench.counter_rng import counters_used
from bnnbench.methods.shared.contract import FitTask, MinibatchMethod, State
from bnnbench.methods.shared.records import Snapshots
from bnnbench.native.networks import NativeTrainer
from bnnbench.optim import NativeUpdate


def train_natively(
    method: MinibatchMethod,
    native_update: NativeUpdate,
    task: FitTask,
    state: State,
    alive: Tensor,
    snapshots: Snapshots,
) -> Iterator[tuple[State, Tensor]]:
    """Yield the state after each epoch and which replicas are finite so far, `[R]`.

    Args:
        method: draws the noise.
        native_update: the method's update.
        task: data, hyper-parameters and settings.
        state: initial state.
        alive: which replicas are finite, `[R]`.
        snapshots: records the weights.
    """
    data, streams, size, step = task.data, task.streams, task.batch_size, 0
    rows = data.inputs.shape[1]
    starts = range(0, rows, size)
    sizes = [min(size, rows - start) for start in starts]
    drawn_by_size = {count: _numbers_drawn(method, task, count) for count in {*sizes}}
    drawn = [drawn_by_size[count] for count in sizes]
    counters = [sum(map(counters_used, one_step)) for one_step in drawn]
    kl_weights = [method.kl_weight(index, len(starts)) for index in range(len(starts))]
    contiguous = torch.contiguous_format  # `init` may return tensors of another layout
    state = {name: value.clone(memory_format=contiguous) for name, value in state.items()}
    hyper = method.effective_hyper(state, task.hyper)
    trainer = NativeTrainer(
        native_update,
        task.mlp,
        method.likelihood,
        data,
        hyper,
        task.training,
        kl_weights,
        state,
        alive,
        streams,
        drawn,
    )
    for epoch in range(task.epochs):
        before, was_alive = {name: value.clone() for name, value in state.items()}, alive.clone()
        order = torch.argsort(streams.uniform(1, rows)[0], dim=1, stable=True)
        first, rate = 0, task.training.at_epoch(epoch, task.epochs).learning_rate
        while first < len(starts):
            end = int(min(len(starts), first + snapshots.steps_until_next(step)))
            place = streams.reserve(sum(counters[first:end]))
            trainer.take_steps(epoch, range(first, end), order, place, rate)
            step, first = step + end - first, end
            snapshots.record(step, state["loc"])
        if not torch.equal(alive, was_alive):
            for name, value in state.items():
                value.copy_(torch.where(alive[:, None], value, before[name]))
        snapshots.end_epoch(alive, before["loc"])
        yield state, alive


def _numbers_drawn(method: MinibatchMethod, task: FitTask, rows: int) -> list[int]:
    """Return how many random numbers each draw of a step on a minibatch of `rows` rows has."""
    samples, sample = task.training.samples, method.sample_noise
    requests = task.streams.record_requests(lambda s: sample(task.mlp, rows, samples, s))
    return [math.prod(shape) for _, shape in requests]
