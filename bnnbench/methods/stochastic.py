"""The stacked minibatch trainer, and the base of every method that it trains.

R networks x S weight samples advance together; a method supplies the start of its state, the
noise of one step and the step itself, as pure functions of tensors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.methods.base import FitTask, Method, Posterior
from bnnbench.methods.compiled import compiled_step
from bnnbench.methods.trace import Trace
from bnnbench.nn import MLP, forward
from bnnbench.settings import Training
from bnnbench.streams import Streams
from bnnbench.types import Hyper, Prediction, TrainingSet, UserError

State = dict[str, Tensor]
Noise = tuple[Tensor, ...]

NONE = range(0)
PREDICTION_ELEMENTS = 4_000_000  # activations held at once while predicting: 16 MB of float32
DRAWN_ELEMENTS = 4_000_000  # weights of one replica drawn at once, however many are stacked


class Batch(NamedTuple):
    """One minibatch of every replica.

    Attributes:
        inputs: `[R, B, D]`.
        targets: `[R, B]`.
        weights: `[R, B]`, 1/(real rows of the batch), 0 on padding: sums to a batch mean.
        counts: training rows of each replica, `[R, 1]`.
        unbias: `1 / (1 - beta^t)` for both betas after the t steps a replica has taken, this one
            included, `[R, 1]` each.
        share: this batch's share of the complexity cost, times the number of batches, `[R, 1]`.
    """

    inputs: Tensor
    targets: Tensor
    weights: Tensor
    counts: Tensor
    unbias: tuple[Tensor, Tensor]
    share: Tensor


@dataclass(frozen=True, kw_only=True)
class StochasticMethod(Method):
    """A method that trains flat weights `[R, P]` by minibatch steps.

    Attributes:
        likelihood: what the outputs say about a target, and what a target then costs: where a
            method's docstring says negative log-likelihood, the loss chosen there stands for it.
        noise_precision: of the observations, standardised units; None is searched. Only with a
            likelihood that has it.
    """

    likelihood: Likelihood = field(default_factory=Gaussian)
    noise_precision: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise_precision is not None and "noise_precision" not in self.hyper_names:
            raise UserError(
                f"method.noise_precision={self.noise_precision!r} does not go with "
                f"likelihood={self.likelihood.label}, which predicts the noise of each point."
            )

    @property
    def hyper_names(self) -> tuple[str, ...]:
        return (*self.likelihood.hyper_names, *self.own_hyper_names)

    def share(self, index: int, batches: int) -> float:
        """Weight of the complexity cost in minibatch `index` of `batches`; averages to 1."""
        return 1.0

    @abstractmethod
    def start(self, task: FitTask) -> State:
        """Initial state, every tensor with the replica axis `R` first."""

    @abstractmethod
    def perturbation(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        """Everything random in one step, drawn before it."""

    @abstractmethod
    def step(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        """One update of all replicas, with no host synchronisation."""

    @abstractmethod
    def draw(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Weight samples `[S, R, P]` from the fitted posterior."""

    def fit(self, task: FitTask) -> Posterior:
        return train(self, replace(task, outputs=self.likelihood.outputs))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        outputs = self.outputs(posterior, inputs, samples, streams)
        return self.likelihood.prediction(outputs, posterior.hyper)

    def outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """What networks drawn from the posterior put out, `[S, R, M, O]`, as for `predict`."""
        replicas, rows, _ = inputs.shape
        per_sample = replicas * rows * max(posterior.mlp.sizes)
        chunk = max(1, min(samples, PREDICTION_ELEMENTS // per_sample))
        # Made first: kept pieces between freed activations would fragment the heap by gigabytes.
        outputs = inputs.new_empty(samples, replicas, rows, self.likelihood.outputs)
        # What a replica draws must not hang on how many are stacked with it, as `chunk` does.
        for part in outputs.split(max(1, DRAWN_ELEMENTS // posterior.mlp.n_weights)):
            weights = self.draw(posterior, len(part), streams)
            for piece, own in zip(part.split(chunk), weights.split(chunk), strict=True):
                piece.copy_(forward(posterior.mlp, own, inputs)[0])
        return outputs

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """The same in the midst of a fit, for recording the objective, `[S, R, M, O]`.

        A method overrides it whose posterior is there only once the fit is over.
        """
        return self.outputs(posterior, inputs, samples, streams)

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """What the objective adds to the loss of the whole training part, nats, `[R]`.

        Zero unless a method says otherwise. Only what records the objective asks for it.
        """
        return posterior.counts.new_zeros(len(posterior.counts))


def epochs_of(task: FitTask, method: StochasticMethod) -> Iterator[list[tuple[Batch, bool]]]:
    """The shuffled minibatches of each epoch, with whether all replicas have rows in them.

    Folds differ in size by a row, so a replica can run out one batch before its neighbours. The
    number of batches follows the padded length, so that a replica meets the same noise alone.
    Everything but the order of the rows is prepared once: this runs between steps of 0.2 ms.
    """
    data, size = task.data, task.training.batch_size
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
    for epoch in range(task.epochs):
        inputs, targets = shuffled(data, task.streams)
        parts = zip(
            inputs.split(size, 1),
            targets.split(size, 1),
            weights,
            zip(first[epoch].unbind(), second[epoch].unbind(), strict=True),
            shares,
            full,
            strict=True,
        )
        yield [
            (Batch(x, y, w, counts, unbias, share), all_) for x, y, w, unbias, share, all_ in parts
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


@torch.no_grad()
def train(method: StochasticMethod, task: FitTask, kept: range = NONE) -> Posterior:
    """Trains R replicas in one stacked program.

    A replica that is not finite at the end of an epoch returns to the last epoch's state and
    stays there, marked as diverged; nothing is shared across replicas, so the others cannot
    notice.

    Args:
        method: supplies `start`, `perturbation` and `step`.
        task: data, hyper-parameters and settings.
        kept: rising step numbers, from 1, after which `loc` is copied: they end up in the state
            as `chain`, `[R, K, P]`. A diverged replica's are its last finite epoch's, repeated.

    Returns:
        The fitted posteriors; `diverged` stays on the device.
    """
    mlp, training, hyper = task.mlp, task.training, dict(task.hyper)
    state = method.start(task)
    alive = finite(state)
    counts = torch.tensor(task.data.counts, device=alive.device, dtype=task.data.inputs.dtype)
    fused = partial(compiled_step(), method) if task.compile else method.step
    trace = Trace(method, task)
    chain, taken = counts.new_empty(len(kept), len(counts), mlp.n_weights), 0
    for batches in epochs_of(task, method):
        before, visited = state, []
        for batch, everyone in batches:
            noise = method.perturbation(mlp, batch.inputs.shape[1], training.samples, task.streams)
            step = fused if batch.inputs.shape[1] == training.batch_size else method.step
            new = step(mlp, training, state, hyper, batch, noise)
            state = new if everyone else select(batch.weights[:, 0] > 0, new, state)
            taken += 1
            if taken in kept:
                visited.append((kept.index(taken), state["loc"]))
        alive = alive & finite(state)
        state = select(alive, state, before)
        for place, loc in visited:
            chain[place] = torch.where(alive[:, None], loc, before["loc"])
        trace.record(Posterior(state, task.hyper, mlp, counts[:, None], ~alive))
    if kept:
        state["chain"] = chain.transpose(0, 1)
    fitted = Posterior(state, task.hyper, mlp, counts[:, None], ~alive)
    return replace(fitted, trace=trace.curves())
