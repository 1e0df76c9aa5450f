"""The stacked minibatch trainer: R networks x S weight samples advance together.

A method supplies the start of its state, the noise of one step and the step itself, as pure
functions of tensors (`Trainable`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from bnnbench.methods.shared.chain import Chain
from bnnbench.methods.shared.compilation import compiled
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.epochs import Noise, State, native_epochs
from bnnbench.methods.shared.objective_trace import Trace, Traced
from bnnbench.native.moments import covers
from bnnbench.nn import MLP
from bnnbench.optim import Rule
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, TrainingSet

NONE = range(0)


class Batch(NamedTuple):
    """One minibatch of every replica.

    Attributes:
        inputs: `[R, B, D]`.
        targets: `[R, B]`.
        weights: `[R, B]`, 1/(real rows of the batch), 0 on padding: sums to a batch mean.
        counts: training rows of each replica, `[R, 1]`.
        taken: steps that each replica has taken before, `[R, 1]`.
        unbias: `1 / (1 - beta^t)` for both betas after these steps and this one, `[R, 1]` each.
        share: this batch's share of the complexity cost, times the number of batches, `[R, 1]`.
    """

    inputs: Tensor
    targets: Tensor
    weights: Tensor
    counts: Tensor
    taken: Tensor
    unbias: tuple[Tensor, Tensor]
    share: Tensor


class Trainable(Traced, Protocol):
    """What the trainer asks of a method; `StochasticMethod` says what each function is for."""

    def rule(self) -> Rule | None: ...

    def share(self, index: int, batches: int) -> float: ...

    def init(self, task: FitTask) -> State: ...

    def hyper_of(self, state: State, hyper: Hyper) -> Hyper: ...

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise: ...

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State: ...


def epochs_of(task: FitTask, method: Trainable) -> Iterator[list[tuple[Batch, bool]]]:
    """The shuffled minibatches of each epoch, with whether all replicas have rows in them.

    Folds differ in size by a row, so a replica can run out one batch before its neighbours. The
    number of batches follows the padded length, so that a replica meets the same noise alone.
    Everything but the order of the rows is prepared once: this runs between steps of 0.2 ms.
    """
    data, size = task.data, task.batch_size
    device, dtype = data.inputs.device, data.inputs.dtype
    rows = data.inputs.shape[1]
    starts = range(0, rows, size)
    counts = torch.tensor(data.counts, device=device, dtype=dtype)[:, None]
    real = (torch.arange(rows, device=device) < counts).to(dtype).split(size, 1)
    weights = [mask / mask.sum(1, keepdim=True).clamp(min=1) for mask in real]
    shares = [counts.new_full((1, 1), method.share(b, len(starts))) for b in range(len(starts))]
    full = [min(data.counts) > start for start in starts]
    active = torch.stack([mask[:, :1] for mask in real]).double()  # [batches, R, 1]
    done = torch.arange(task.epochs, device=device)[:, None, None, None] * active.sum(0)
    steps = (done + active.cumsum(0)).clamp(min=1)  # [epochs, batches, R, 1]
    first, second = ((1 / (1 - beta**steps)).to(dtype) for beta in task.training.betas)
    taken = (steps - 1).to(dtype)
    for epoch in range(task.epochs):
        inputs, targets = shuffled(data, task.streams)
        parts = zip(
            inputs.split(size, 1),
            targets.split(size, 1),
            weights,
            taken[epoch].unbind(),
            zip(first[epoch].unbind(), second[epoch].unbind(), strict=True),
            shares,
            full,
            strict=True,
        )
        yield [
            (Batch(x, y, w, counts, steps, unbias, share), everyone)
            for x, y, w, steps, unbias, share, everyone in parts
        ]


def shuffled(data: TrainingSet, streams: Streams) -> tuple[Tensor, Tensor]:
    """The rows of every replica in a new random order, padding kept last."""
    keys = streams.uniform(1, data.inputs.shape[1])[0].expand(data.replicas, -1)
    counts = torch.tensor(data.counts, device=keys.device)[:, None]
    padding = torch.arange(keys.shape[1], device=keys.device) >= counts
    order = torch.argsort(keys.masked_fill(padding, 2.0), dim=1, stable=True)
    starts = keys.shape[1] * torch.arange(data.replicas, device=keys.device)
    rows = (starts[:, None] + order).flatten()
    inputs = data.inputs.flatten(0, 1).index_select(0, rows).view_as(data.inputs)
    return inputs, data.targets.view(-1).index_select(0, rows).view_as(data.targets)


def select(keep: Tensor, new: State, old: State) -> State:
    """`new` where `keep` (`[R]`), else `old`."""
    column = keep[:, None]
    return {name: torch.where(column, new[name], old[name]) for name in new}


def finite(state: State) -> Tensor:
    """`[R]`: whether everything a replica holds is finite."""
    return torch.stack([value.isfinite().all(1) for value in state.values()]).all(0)


def _update(method: Trainable, *arguments: Any) -> Any:
    return method.update(*arguments)


def _fused(method: Trainable) -> Callable[..., State]:
    # One compiled function for all methods of all runs, which torch tells apart by itself.
    return partial(compiled(_update), method)


@torch.no_grad()
def train(method: Trainable, task: FitTask, kept: range = NONE) -> Posterior:
    """Trains R replicas in one stacked program.

    A replica that is not finite at the end of an epoch returns to the last epoch's state and
    stays there, marked as diverged; nothing is shared across replicas, so the others cannot
    notice.

    Args:
        method: supplies `init`, `sample_noise` and `update`.
        task: data, hyper-parameters and settings.
        kept: rising step numbers, from 1, after which `loc` is copied: they end up in the state
            as `chain`, `[R, K, P]`. A diverged replica's are its last finite epoch's, repeated.

    Returns:
        The fitted posteriors; `diverged` stays on the device.
    """
    state = method.init(task)
    alive = finite(state)
    counts = torch.tensor(task.data.counts, device=alive.device, dtype=task.data.inputs.dtype)
    trace = Trace(method, task)
    chain, rule = Chain(kept, state["loc"]), known_rule(method, task.data.inputs)
    if rule is not None:
        epochs = native_epochs(method, rule, task, state, alive, chain)
    else:
        epochs = _epochs(method, task, state, alive, chain)
    for state, alive in epochs:
        hyper = method.hyper_of(state, task.hyper)
        trace.record(Posterior(state, hyper, task.mlp, counts[:, None], ~alive))
    if kept:
        state["chain"] = chain.copies
    hyper = method.hyper_of(state, task.hyper)
    fitted = Posterior(state, hyper, task.mlp, counts[:, None], ~alive)
    return replace(fitted, trace=trace.curves())


def known_rule(method: Trainable, like: Tensor) -> Rule | None:
    """The method's rule, where native code covers a fit of such tensors.

    A class that is derived from one with a rule may take another step: it has to say so itself.
    """
    if "rule" not in vars(type(method)) or not covers(method.likelihood, like):
        return None
    return method.rule()


def _epochs(
    method: Trainable, task: FitTask, state: State, alive: Tensor, chain: Chain
) -> Iterator[tuple[State, Tensor]]:
    """The state after each epoch, and `[R]` which replicas are finite so far; fills `chain`."""
    mlp, training, hyper, taken = task.mlp, task.training, dict(task.hyper), 0
    fused = _fused(method) if task.compile else method.update
    for batches in epochs_of(task, method):
        before = state
        for batch, everyone in batches:
            noise = method.sample_noise(mlp, batch.inputs.shape[1], training.samples, task.streams)
            step = fused if batch.inputs.shape[1] == training.batch_size else method.update
            new = step(mlp, training, state, hyper, batch, noise)
            state = new if everyone else select(batch.weights[:, 0] > 0, new, state)
            taken += 1
            chain.after(taken, state["loc"])
        alive = alive & finite(state)
        state = select(alive, state, before)
        chain.settle(alive, before["loc"])
        yield state, alive
