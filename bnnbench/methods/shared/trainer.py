"""The stacked minibatch trainer, which trains R networks with S weight samples each in parallel.

A `MinibatchMethod` supplies its initial state, the noise of a step and the update, as pure
functions of tensors. `StochasticMethod` is the base class of methods that are trained this way.

Methods that have a `NativeUpdate` train whole epochs in native code, with the same random numbers,
so that results differ only by rounding. After epochs and steps, the objective and copies of the
weights can be recorded.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.methods.shared.chunking import predict_outputs
from bnnbench.methods.shared.compilation import compiled
from bnnbench.methods.shared.contract import DRAWS, MARGINALS, FitTask, Posterior, State
from bnnbench.methods.shared.minibatches import MinibatchMethod, minibatches_by_epoch
from bnnbench.native.networks import NativeTrainer, fits_state, has_native_gradients
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.random_streams import Streams, counters_used
from bnnbench.settings import Training
from bnnbench.types import Prediction, UserError

NO_STEPS = range(0)


def select(keep: Tensor, new: State, old: State) -> State:
    """Return `new` where `keep` (`[R]`), else `old`."""
    column = keep[:, None]
    return {name: torch.where(column, new[name], old[name]) for name in new}


def finite(state: State) -> Tensor:
    """Return which replicas are entirely finite, `[R]`."""
    return torch.stack([value.isfinite().all(1) for value in state.values()]).all(0)


def describe_misshaped(state: State, replicas: int) -> str | None:
    """Describe the first entry of an initial state whose first axis is not that of replicas."""
    for name, value in state.items():
        if value.shape[:1] != (replicas,):
            return (
                f"`init` returns state[{name!r}] of shape {[*value.shape]}, expected "
                f"[{replicas}, ...], one entry per replica"
            )
    return None


@torch.no_grad()
def train(method: MinibatchMethod, task: FitTask, saved_steps: range = NO_STEPS) -> Posterior:
    """Train R replicas in one stack.

    A replica that is not finite at the end of an epoch is reset to the previous epoch's state,
    frozen and marked as diverged. Replicas share nothing, so the others are not affected.

    Args:
        method: supplies `init`, `sample_noise` and `update`.
        task: data, hyper-parameters and settings.
        saved_steps: increasing step numbers, from 1, after which `loc` is saved. The state has the
            copies as `chain`, `[R, K, P]`; those of a diverged replica repeat its last finite
            epoch.

    Returns:
        The fitted posteriors; `diverged` stays on the device.

    Raises:
        UserError: if `init` returns a tensor without the replica axis, or native code cannot read
            a tensor.
    """
    task = replace(task, outputs=method.likelihood.outputs)
    state = method.init(task)
    misshaped = describe_misshaped(state, task.data.replicas)
    if misshaped:
        raise UserError(f"{misshaped}.", "method", "tensor")
    alive = finite(state)
    counts = torch.tensor(task.data.counts, device=alive.device, dtype=task.data.inputs.dtype)
    trace = Trace(method, task)
    snapshots = Snapshots(saved_steps, state["loc"])
    native_update = native_update_for(method, task, state)
    if native_update is not None:
        epochs = train_natively(method, native_update, task, state, alive, snapshots)
    else:
        epochs = _epochs(method, task, state, alive, snapshots)
    for state, alive in epochs:
        hyper = method.effective_hyper(state, task.hyper)
        trace.record(Posterior(state, hyper, task.mlp, counts[:, None], ~alive))
    if saved_steps:
        state["chain"] = snapshots.weights
    hyper = method.effective_hyper(state, task.hyper)
    fitted = Posterior(state, hyper, task.mlp, counts[:, None], ~alive)
    return replace(fitted, trace=trace.curves())


def native_update_for(method: MinibatchMethod, task: FitTask, state: State) -> NativeUpdate | None:
    """Return the native update, if it is valid for the classes, the settings and the state."""
    exact = (type(task), type(task.mlp), type(task.streams)) == (FitTask, MLP, Streams)
    if not (exact and has_native_gradients(method.likelihood, task.data.inputs) and method.native):
        return None
    update = method.native_update()
    is_valid = (
        update is not None
        and fits_state(update, task.mlp, state, task.data.replicas)
        and only_rate_varies(task.training, task.epochs)
    )
    return update if is_valid else None


def only_rate_varies(training: Training, epochs: int) -> bool:
    """Whether all epochs have the same settings, apart from the learning rate."""
    rate = training.learning_rate
    return type(training) is Training or all(
        replace(training.at_epoch(epoch, epochs), learning_rate=rate) == training
        for epoch in range(epochs)
    )


def _epochs(
    method: MinibatchMethod, task: FitTask, state: State, alive: Tensor, snapshots: Snapshots
) -> Iterator[tuple[State, Tensor]]:
    """Yield the state after each epoch and which replicas are finite so far, `[R]`."""
    mlp, hyper, step = task.mlp, dict(task.hyper), 0
    # Classes are compiled separately: torch fails to compare the noise of one with another's.
    owner = type(method)
    # Code compiled for one learning rate is useless for the next.
    compiles = task.compile and task.training.learning_rate_decay == 1
    compiled_update = partial(compiled(owner.update), method) if compiles else method.update
    for epoch, batches in enumerate(minibatches_by_epoch(task, method)):
        before, training = state, task.training.at_epoch(epoch, task.epochs)
        for batch, all_active in batches:
            noise = method.sample_noise(mlp, batch.inputs.shape[1], training.samples, task.streams)
            full_size = batch.inputs.shape[1] == training.batch_size
            update = compiled_update if full_size else method.update
            new = {**state, **update(mlp, training, state, hyper, batch, noise)}
            state = new if all_active else select(batch.weights[:, 0] > 0, new, state)
            step += 1
            snapshots.record(step, state["loc"])
        alive = alive & finite(state)
        state = select(alive, state, before)
        snapshots.end_epoch(alive, before["loc"])
        yield state, alive


MAX_DRAWN_WEIGHTS = 4_000_000  # per replica and call


@dataclass(frozen=True, kw_only=True)
class StochasticMethod(MinibatchMethod):
    """A method that is trained by minibatch steps and predicts with networks."""

    portable_prediction: ClassVar[bool] = True

    @property
    def joint(self) -> str:
        """Draws, unless a class replaces `predict`; such a class declares its own."""
        return DRAWS if type(self).predict is StochasticMethod.predict else MARGINALS

    @abstractmethod
    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Draw weights `[S, R, P]` from the fitted posterior."""

    def fit(self, task: FitTask) -> Posterior:
        return train(self, task)

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        outputs = self.outputs(posterior, inputs, samples, streams)
        return self.likelihood.prediction(outputs, posterior.hyper)

    def outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Return the outputs of networks drawn from the posterior, `[S, R, M, O]`."""
        replicas, rows, _ = inputs.shape
        outputs = inputs.new_empty(samples, replicas, rows, self.likelihood.outputs)
        # The limit is per replica: a replica's samples must not depend on the size of its stack.
        for part in torch.split(outputs, max(1, MAX_DRAWN_WEIGHTS // posterior.mlp.n_weights)):
            weights = self.sample_weights(posterior, len(part), streams)
            predict_outputs(posterior.mlp, weights, inputs, part)
        return outputs

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Return `outputs`; override this if the posterior only exists at the end of the fit."""
        return self.outputs(posterior, inputs, samples, streams)


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


TRACE_SAMPLES = 3
"""Weight samples per epoch. Costs at most a tenth of the training time; the noise is small because
the loss is averaged over the whole training part. Biased only for Rényi divergences estimated from
samples."""


class Trace:
    """The objective of one fit by epoch; empty unless the task has `trace_streams`.

    The objective is `loss + complexity` (the negative ELBO, for variational methods), both in nats
    per training row, for standardised targets. `loss` is averaged over rows and `TRACE_SAMPLES`
    weight samples (or the networks of a point estimate); `complexity` is the method's complexity
    term divided by the number of rows.
    """

    def __init__(self, method: MinibatchMethod, task: FitTask) -> None:
        self._method, self._task = method, task
        self._points: list[tuple[Tensor, Tensor]] = []

    def record(self, posterior: Posterior) -> None:
        """Add one epoch, without waiting for the device."""
        method, task = self._method, self._task
        if task.trace_streams is None:
            return
        inputs, targets = task.data.inputs, task.data.targets
        outputs = method.training_outputs(posterior, inputs, TRACE_SAMPLES, task.trace_streams)
        values = method.likelihood.value(outputs, targets, posterior.hyper).mean(0)
        real = torch.arange(values.shape[1], device=values.device) < posterior.counts
        counts = posterior.counts[:, 0]
        loss = torch.where(real, values, 0).sum(1) / counts
        self._points.append((loss, method.complexity(posterior, task.trace_streams) / counts))

    def curves(self) -> dict[str, Tensor]:
        """Return `loss` and `complexity`, `[epochs, R]` each, or an empty dictionary."""
        if not self._points:
            return {}
        loss, complexity = zip(*self._points, strict=True)
        return {"loss": torch.stack(loss), "complexity": torch.stack(complexity)}


class Snapshots:
    """Copies of the weights after selected steps of a fit.

    Args:
        steps: increasing step numbers, from 1.
        initial: `[R, P]`, the initial weights.

    Attributes:
        steps: as given.
        copies: `[K, R, P]`; NaN for steps after the last one.
    """

    def __init__(self, steps: range, initial: Tensor) -> None:
        self.steps = steps
        self.copies = initial.new_full((len(steps), *initial.shape), torch.nan)
        self._new: list[int] = []

    def record(self, step: int, weights: Tensor) -> None:
        """Copy the weights if this step is selected."""
        if step in self.steps:
            index = self.steps.index(step)
            self.copies[index] = weights
            self._new.append(index)

    def end_epoch(self, alive: Tensor, before: Tensor) -> None:
        """Replace this epoch's copies of replicas that are not `alive` `[R]` by `before`."""
        for index in self._new:
            self.copies[index] = torch.where(alive[:, None], self.copies[index], before)
        self._new.clear()

    @property
    def weights(self) -> Tensor:
        """`[R, K, P]`."""
        return self.copies.transpose(0, 1)
