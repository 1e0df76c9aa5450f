"""Small training sets, and fits of a method under test that several checks share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Prediction, TrainingSet

HYPER = {"noise_precision": 5.0, "prior_precision": 0.7, "dropout": 0.2}
"""Values of the built-in hyper-parameters, in standardised units."""

SEEDS = [11, 12]
GROUPS = (0, 0, 1)
COUNTS = (20, 17, 16)  # three, three and two minibatches of 8 per epoch

FLOAT32: dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}
"""Type and device of new tensors, independent of torch's defaults."""

TEST_ROWS = 6
"""Number of rows to predict."""


def training_set() -> TrainingSet:
    """Return training sets of different sizes for three replicas, the first two in one group.

    They are float64, but float32 represents them exactly.
    """
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(3, 20, 2, generator=generator, dtype=torch.float64, device="cpu")
    targets = inputs[..., 0].sin() + 0.1 * torch.randn(
        3, 20, generator=generator, dtype=torch.float64, device="cpu"
    )
    real = torch.arange(20, device="cpu") < torch.tensor(COUNTS, device="cpu")[:, None]
    whole = TrainingSet(inputs * real[..., None], targets * real, COUNTS, GROUPS)
    return with_dtype(with_dtype(whole, torch.float32), torch.float64)


def with_dtype(data: TrainingSet, dtype: torch.dtype) -> TrainingSet:
    """Return training sets of another type."""
    return replace(data, inputs=data.inputs.to(dtype), targets=data.targets.to(dtype))


def network_of(method: Method, width: int) -> Network:
    """Return a network with one hidden layer, or none if the method is linear only."""
    return Network(depth=0) if method.linear_only else Network(width=width)


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
    """Return a task of the type of the data, with minibatches of 8."""
    dtype = data.inputs.dtype
    training = Training(batch_size=8, samples=3, dtype=str(dtype).removeprefix("torch."))
    streams = Streams([*seeds], data.groups, dtype=dtype)
    hyper = {
        name: torch.full((data.replicas, 1), values[name], **FLOAT32).to(dtype)
        for name in method.hyper_names
    }
    network = network_of(method, 5)
    return FitTask(data, hyper, network, training, epochs, streams, compile, trace_streams=trace)


def predict(
    method: Method, posterior: Posterior, data: TrainingSet, seeds: Sequence[int] = SEEDS
) -> Prediction:
    """Predict the first six rows with 7 samples."""
    shifted = [seed + 100 for seed in seeds]
    streams = Streams(shifted, data.groups, dtype=data.inputs.dtype)
    return method.predict(posterior, data.inputs[:, :TEST_ROWS], 7, streams)


@dataclass(frozen=True)
class MethodUnderTest:
    """A method and its fits to the small training sets, computed on first use.

    Attributes:
        method: the method to check.
        values: values of hyper-parameters that no built-in method has.
    """

    method: Method
    values: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def data(self) -> TrainingSet:
        """The training sets."""
        return training_set()

    @cached_property
    def posterior(self) -> Posterior:
        """The fit with which other fits are compared."""
        return self.fit()

    @cached_property
    def prediction(self) -> Prediction:
        """The predictions of `posterior`."""
        return self.predict(self.posterior)

    def task(self, data: TrainingSet | None = None, seeds: Sequence[int] = SEEDS) -> FitTask:
        """Return the task for other data or seeds."""
        training_data = self.data if data is None else data
        return small_task(self.method, training_data, seeds, values={**HYPER, **self.values})

    def fit(self, data: TrainingSet | None = None, seeds: Sequence[int] = SEEDS) -> Posterior:
        """Fit the method to other data or with other seeds."""
        return self.method.fit(self.task(data, seeds))

    def predict(
        self, posterior: Posterior, data: TrainingSet | None = None, seeds: Sequence[int] = SEEDS
    ) -> Prediction:
        """Predict the first rows of each replica."""
        return predict(self.method, posterior, self.data if data is None else data, seeds)
