"""The stacked minibatch trainer, which trains R networks with S weight samples each in parallel.

A `MinibatchMethod` supplies its initial state, the noise of a step and the update, as pure
functions of tensors. `StochasticMethod` is the base class of methods that are trained this way.
"""

from __future__ import annotations

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
from bnnbench.methods.shared.native_training import train_natively
from bnnbench.methods.shared.records import Snapshots, Trace
from bnnbench.native.networks import fits_state, has_native_gradients
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.random_streams import Streams
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
