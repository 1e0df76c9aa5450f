"""Methods that are trained on minibatches: their interface, and the order of the rows in an epoch.

`trainer.py` trains them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, NamedTuple

import torch
from torch import Tensor

from bnnbench.constraints import Between
from bnnbench.likelihoods import Gaussian, Likelihood
from bnnbench.methods.shared.contract import (
    LEARNED,
    FitTask,
    Method,
    Posterior,
    State,
    check_noise_precision,
)
from bnnbench.native.networks import are_supported
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, TrainingSet

Noise = tuple[Tensor, ...]


class Batch(NamedTuple):
    """One minibatch of every replica.

    Attributes:
        inputs: `[R, B, D]`.
        targets: `[R, B]`.
        weights: `[R, B]`, 1/(real rows of the batch), 0 on padding: sums to a batch mean.
        counts: training rows of each replica, `[R, 1]`.
        steps_taken: number of previous steps of each replica, `[R, 1]`.
        bias_correction: Adam's `1 / (1 - beta^t)` for both betas, t including this step, `[R, 1]`.
        kl_weight: weight of the complexity term, `[R, 1]`; 1 on average.
    """

    inputs: Tensor
    targets: Tensor
    weights: Tensor
    counts: Tensor
    steps_taken: Tensor
    bias_correction: tuple[Tensor, Tensor]
    kl_weight: Tensor


@dataclass(frozen=True, kw_only=True)
class MinibatchMethod(Method):
    """A method that trains flat weights `[R, P]` by minibatch steps.

    Attributes:
        likelihood: the distribution of targets given the outputs, and its loss. Docstrings of
            methods say "negative log-likelihood" for whichever loss is configured.
        noise_precision: of the observations, standardised units; None is searched. Only valid for a
            likelihood that has it. Methods that learn it accept a string instead.
        prior_precision: of the weights, biases included, standardised units; None is searched.
    """

    likelihood: Likelihood = field(default_factory=Gaussian)
    noise_precision: Annotated[float | str | None, Between(0)] = None
    prior_precision: Annotated[float | str | None, Between(0)] = None
    own_hyper_names: ClassVar[tuple[str, ...]] = ("prior_precision",)
    records_objective: ClassVar[bool] = True
    native_code = ("native_update", ("update", "sample_noise", "effective_hyper"))

    def check(self) -> None:
        check_noise_precision(self.likelihood, self.noise_precision)

    @property
    def hyper_names(self) -> tuple[str, ...]:
        names = (*self.likelihood.hyper_names, *self.own_hyper_names)
        return tuple(name for name in names if getattr(self, name) != LEARNED)

    def kl_weight(self, index: int, batches: int) -> float:
        """Return the weight of the complexity term in minibatch `index` of `batches`; mean 1."""
        return 1.0

    @abstractmethod
    def init(self, task: FitTask) -> State:
        """Return the initial state; the replica axis `R` comes first in every tensor."""

    def effective_hyper(self, state: State, hyper: Hyper) -> Hyper:
        """Return the hyper-parameters in effect for a state: the given ones, or learned values."""
        return hyper

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        """Draw all random numbers of one step; none by default."""
        return ()

    @abstractmethod
    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        """Update all replicas once, without host synchronisation.

        Returns:
            The entries of the state that change; the others keep their values.
        """

    def native_update(self) -> NativeUpdate | None:
        """Describe `update` for the native trainer, or return None to train with `update`.

        The native trainer replays the random numbers requested by `sample_noise`, which must
        therefore have no other effect.

        A subclass inherits it unless it replaces something that the step depends on
        (`native_code`). A subclass that overrides this method without calling that of its base
        class decides for itself.
        """
        return None

    @property
    def native_parts(self) -> tuple[object, ...]:
        of_density = (self.likelihood, self.likelihood.loss)
        is_native = are_supported(*of_density) and self.native_update() is not None
        return (self, *of_density) if is_native else ()

    @abstractmethod
    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Return the outputs of networks `[S, R, M, O]` during a fit, to record the objective."""

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return the objective's complexity term for the whole training part, nats, `[R]`.

        Zero by default. Only used for recording the objective.
        """
        return posterior.counts.new_zeros(len(posterior.counts))


def row_order(data: TrainingSet, streams: Streams) -> Tensor:
    """Draw the order in which an epoch visits the rows of every replica, `[R, N]`; padding is last.

    Replicas of a group have the same order, apart from rows that one of them lacks. The native
    trainer draws it in C++, from the same random numbers (`draw_order` in `cpp/kernel.cpp`).
    """
    keys = streams.uniform(1, data.inputs.shape[1])[0].expand(data.replicas, -1)
    return torch.argsort(keys.masked_fill(~data.real, 2.0), dim=1, stable=True)


def in_order(data: TrainingSet, order: Tensor) -> tuple[Tensor, Tensor]:
    """Return inputs `[R, N, D]` and targets `[R, N]` of the rows `order` `[R, N]`."""
    replicas, rows = order.shape
    starts = rows * torch.arange(replicas, device=order.device)
    places = (starts[:, None] + order).flatten()
    inputs = data.inputs.flatten(0, 1).index_select(0, places).view_as(data.inputs)
    return inputs, data.targets.view(-1).index_select(0, places).view_as(data.targets)


def minibatches_by_epoch(
    task: FitTask, method: MinibatchMethod
) -> Iterator[list[tuple[Batch, bool]]]:
    """Yield the shuffled minibatches of each epoch, and whether all replicas have rows in each.

    Folds differ in size by a row, so a replica can run out one batch before its neighbours. The
    number of batches follows the padded length, so that a replica gets the same noise when it is
    trained alone. Everything but the order of the rows is prepared once: a step takes 0.2 ms.
    """
    data, size = task.data, task.batch_size
    device, dtype = data.inputs.device, data.inputs.dtype
    rows = data.inputs.shape[1]
    starts = range(0, rows, size)
    counts = torch.tensor(data.counts, device=device, dtype=dtype)[:, None]
    real = torch.split(data.real.to(dtype), size, 1)
    weights = [mask / mask.sum(1, keepdim=True).clamp(min=1) for mask in real]
    batches = len(starts)
    kl_weights = [counts.new_full((1, 1), method.kl_weight(b, batches)) for b in range(batches)]
    full = [min(data.counts) > start for start in starts]
    active = torch.stack([mask[:, :1] for mask in real]).double()  # [batches, R, 1]
    done = torch.arange(task.epochs, device=device)[:, None, None, None] * active.sum(0)
    steps = (done + active.cumsum(0)).clamp(min=1)  # [epochs, batches, R, 1]
    first, second = ((1 / (1 - beta**steps)).to(dtype) for beta in task.training.betas)
    taken = (steps - 1).to(dtype)
    for epoch in range(task.epochs):
        inputs, targets = in_order(data, row_order(data, task.streams))
        parts = zip(
            torch.split(inputs, size, 1),
            torch.split(targets, size, 1),
            weights,
            taken[epoch].unbind(),
            zip(first[epoch].unbind(), second[epoch].unbind(), strict=True),
            kl_weights,
            full,
            strict=True,
        )
        yield [
            (Batch(x, y, w, counts, steps, bias_correction, kl_weight), all_active)
            for x, y, w, steps, bias_correction, kl_weight, all_active in parts
        ]
