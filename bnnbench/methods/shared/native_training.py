"""Training of whole epochs in native code, for methods that have a `NativeUpdate`.

Uses the same random numbers as the torch trainer, so that results differ only by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from bnnbench.counter_rng import counters_used
from bnnbench.methods.shared.contract import FitTask, State
from bnnbench.methods.shared.minibatches import MinibatchMethod
from bnnbench.methods.shared.records import Snapshots
from bnnbench.native.networks import NativeTrainer
from bnnbench.optim import NativeUpdate

MAX_PRODUCTS = 10**10
"""Products in a call of native code, which takes up to about a second and cannot be interrupted: of
an input and a weight, or of coordinates of two particles."""


def train_natively(
    method: MinibatchMethod,
    native_update: NativeUpdate,
    task: FitTask,
    state: State,
    alive: Tensor,
    snapshots: Snapshots,
) -> Iterator[tuple[State, Tensor]]:
    """Yield the state after some epochs, and which replicas are finite so far, `[R]`.

    Yields after every epoch if the task records the objective.

    Args:
        method: draws the noise.
        native_update: the method's update.
        task: data, hyper-parameters and settings.
        state: initial state.
        alive: which replicas are finite, `[R]`.
        snapshots: receives copies of the weights.
    """
    data, streams, training = task.data, task.streams, task.training
    rows, size = data.inputs.shape[1], task.batch_size
    sizes = [min(size, rows - start) for start in range(0, rows, size)]
    drawn_by_size = {count: _numbers_drawn(method, task, count) for count in {*sizes}}
    drawn = [drawn_by_size[count] for count in sizes]
    counters = counters_used(rows) + sum(counters_used(one) for step in drawn for one in step)
    contiguous = torch.contiguous_format  # `init` may return tensors of another layout
    state = {name: value.clone(memory_format=contiguous) for name, value in state.items()}
    trainer = NativeTrainer(
        native_update,
        task.mlp,
        method.likelihood,
        data,
        method.effective_hyper(state, task.hyper),
        training,
        [method.kl_weight(index, len(sizes)) for index in range(len(sizes))],
        state,
        alive,
        streams,
        drawn,
        snapshots.steps,
        snapshots.copies,
    )
    of_weight = rows * training.samples * method.native_cost + len(sizes) * native_update.members
    products = int(data.replicas * state["loc"].shape[1] * of_weight)
    at_once = max(1, MAX_PRODUCTS // products) if task.trace_streams is None else 1
    rates = [training.at_epoch(epoch, task.epochs).learning_rate for epoch in range(task.epochs)]
    for epoch in range(0, task.epochs, at_once):
        some = rates[epoch : epoch + at_once]
        trainer.train_epochs(epoch, some, streams.reserve(counters * len(some)))
        yield state, alive


def _numbers_drawn(method: MinibatchMethod, task: FitTask, rows: int) -> list[int]:
    """Return how many random numbers each draw of a step on a minibatch of `rows` rows has."""
    samples, sample = task.training.samples, method.sample_noise
    requests = task.streams.record_requests(lambda s: sample(task.mlp, rows, samples, s))
    return [math.prod(shape) for _, shape in requests]
