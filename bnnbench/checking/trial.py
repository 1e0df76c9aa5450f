"""A method on trial: a small stack of replicas, and the fits that several checks read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch

from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Hyper, Prediction, TrainingSet

HYPER = {"noise_precision": 5.0, "prior_precision": 0.7, "dropout": 0.2}
"""What hyper-parameters of our methods are tried with, standardised units."""

SEEDS = [11, 12]
GROUPS = (0, 0, 1)
COUNTS = (20, 17, 16)  # with batches of 8: three, three and two minibatches an epoch

TEST_ROWS = 6
"""How many rows are predicted."""


def training_set() -> TrainingSet:
    """Three replicas, the first two of one group, of different numbers of rows."""
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(3, 20, 2, generator=generator, dtype=torch.float64)
    targets = inputs[..., 0].sin() + 0.1 * torch.randn(
        3, 20, generator=generator, dtype=torch.float64
    )
    real = torch.arange(20) < torch.tensor(COUNTS)[:, None]
    return TrainingSet(inputs * real[..., None], targets * real, COUNTS, GROUPS)


def network_of(method: Method, width: int) -> Network:
    """One hidden layer where the method takes any."""
    return Network(depth=0) if method.linear_only else Network(width=width)


def hyper_of(method: Method, replicas: int, values: Mapping[str, float] = HYPER) -> Hyper:
    """A column for each of its hyper-parameters."""
    return {name: torch.full((replicas, 1), values[name]).double() for name in method.hyper_names}


def small_task(
    method: Method,
    data: TrainingSet,
    seeds: Sequence[int] = SEEDS,
    *,
    epochs: int = 4,
    compile: bool = False,
    trace: Streams | None = None,
    values: Mapping[str, float] = HYPER,
) -> FitTask:
    """Four epochs of minibatches of 8."""
    training = Training(batch_size=8, samples=3, dtype="float64")
    streams = Streams([*seeds], data.groups, dtype=torch.float64)
    hyper = hyper_of(method, data.replicas, values)
    network = network_of(method, 5)
    return FitTask(data, hyper, network, training, epochs, streams, compile, trace=trace)


def predict(
    method: Method, posterior: Posterior, data: TrainingSet, seeds: Sequence[int] = SEEDS
) -> Prediction:
    """Of the first six rows, with 7 samples."""
    streams = Streams([seed + 100 for seed in seeds], data.groups, dtype=torch.float64)
    return method.predict(posterior, data.inputs[:, :TEST_ROWS], 7, streams)


@dataclass(frozen=True)
class Trial:
    """A method, and what it makes of the small stack; each fit is made when it is first asked for.

    Attributes:
        method: on trial.
        values: of hyper-parameters that none of our methods has.
    """

    method: Method
    values: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def data(self) -> TrainingSet:
        """What it is fitted to."""
        return training_set()

    @cached_property
    def posterior(self) -> Posterior:
        """The fit that all others are compared with."""
        return self.fit()

    @cached_property
    def prediction(self) -> Prediction:
        """By that fit."""
        return self.predict(self.posterior)

    def task(self, data: TrainingSet | None = None, seeds: Sequence[int] = SEEDS) -> FitTask:
        """Four epochs of minibatches of 8."""
        given = self.data if data is None else data
        return small_task(self.method, given, seeds, values={**HYPER, **self.values})

    def fit(self, data: TrainingSet | None = None, seeds: Sequence[int] = SEEDS) -> Posterior:
        """Of other data, or by another seed."""
        return self.method.fit(self.task(data, seeds))

    def predict(
        self, posterior: Posterior, data: TrainingSet | None = None, seeds: Sequence[int] = SEEDS
    ) -> Prediction:
        """The first rows of each replica."""
        return predict(self.method, posterior, self.data if data is None else data, seeds)
