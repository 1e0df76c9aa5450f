"""Base class of the experiments of this suite: training, measuring and saving units."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
import pandas as pd
import torch

from bnnbench.constraints import Between, Count, ListOf, Whole
from bnnbench.data.images.base import load_images
from bnnbench.experiment.kinds.image_experiment import ImageExperiment
from bnnbench.experiment.store.answer_tables import Answer, mean_answer, repetition_tables
from bnnbench.experiment.store.unit_store import Arrays, UnitResults
from bnnbench.suites.latent_models.names import quantities
from bnnbench.suites.latent_models.networks import Shape
from bnnbench.suites.latent_models.published import HIDDEN, published_value
from bnnbench.suites.latent_models.training import (
    AutoencoderReplica,
    Data,
    ReplicaStack,
    evaluated_epochs,
)

EPOCHS = {"digits": 400, "mnist_5000": 300}
"""Epochs of small sets, whose epochs have few steps; the book's 100 epochs otherwise."""


@dataclass(frozen=True)
class ModelSetting:
    """What a unit trains.

    Attributes:
        approximation: name of the model in `answers.csv`.
        label: its setting in `answers.csv`.
        shape: sizes of the model.
        beta: factor of the KL divergence.
        samples: number of samples in the bound that is maximised.
    """

    approximation: str
    label: str
    shape: Shape
    beta: float = 1.0
    samples: int = 1

    @property
    def can_stack(self) -> tuple[Any, ...]:
        """Equal for settings whose models can be padded to one shape."""
        return self.shape.flow, self.samples


ReplicaStackT = TypeVar("ReplicaStackT", bound=ReplicaStack)


@dataclass(frozen=True, kw_only=True)
class LatentModelExperiment(ImageExperiment[ReplicaStackT]):
    """Trains latent-variable models of images.

    Attributes:
        hidden: sizes of the hidden layers of an encoder; None for those of the book.
        epochs: number of passes through the training images; None for 400 on digits, 300 on
            mnist_5000 and the book's 100 otherwise.
        learning_rate: of Adam.
        batch_size: number of images in a minibatch.
    """

    hidden: Annotated[tuple[int, ...] | None, ListOf(Whole(1, 10_000))] = None
    epochs: Annotated[int | None, Whole(1, 100_000)] = None
    learning_rate: Annotated[float, Between(0, 1)]
    batch_size: Count
    step_noun: ClassVar[str] = "epochs"
    columns: ClassVar[tuple[str, ...]] = ("epochs",)

    def resolved(self) -> Self:
        """Take missing settings from the images."""
        name = self.images.name
        return replace(
            self,
            hidden=HIDDEN.get(name, (200,)) if self.hidden is None else self.hidden,
            epochs=EPOCHS.get(name, 100) if self.epochs is None else self.epochs,
        )

    @cached_property
    @abstractmethod
    def settings(self) -> Mapping[str, ModelSetting]:
        """The setting of each unit."""

    @abstractmethod
    def new_replicas(
        self,
        shape: Shape,
        replicas: Sequence[AutoencoderReplica],
        data: Data,
        setting: ModelSetting,
    ) -> ReplicaStackT:
        """Return new replicas.

        Args:
            shape: sizes that all replicas are padded to.
            replicas: the replicas.
            data: images and labels.
            setting: of the first replica; the others can be stacked with it.
        """

    @abstractmethod
    def measure(
        self, stack: ReplicaStackT, members: range, setting: ModelSetting
    ) -> tuple[list[dict[str, Any]], dict[str, Arrays]]:
        """Measure the trained replicas of a unit.

        Args:
            stack: the stack that they are part of.
            members: their positions in it.
            setting: of the unit.

        Returns:
            A row of scores for each replica, and arrays by file.
        """

    @property
    def draws(self) -> int | None:
        """Number of draws for each image in the bounds of log p(x); None if there are none."""
        return None

    def stack_key(self, unit: str) -> Hashable:
        return self.settings[unit].can_stack

    def _stack_shape(self, setting: ModelSetting) -> Shape:
        """Return the shape of a unit's stack, which does not depend on the requested units."""
        if not self.lockstep:
            return setting.shape
        shapes = [s.shape for s in self.settings.values() if s.can_stack == setting.can_stack]
        widest = {name: max(getattr(s, name) for s in shapes) for name in ("latents", "labels")}
        return replace(setting.shape, **widest)

    def make_stack(self, units: Sequence[str]) -> ReplicaStackT:
        first, total = self.settings[units[0]], self.total_steps(units[0])
        replicas = [
            AutoencoderReplica(self.seed, k, self.settings[unit].shape, self.settings[unit].beta)
            for unit in units
            for k in range(self.repetitions)
        ]
        stack = self.new_replicas(self._stack_shape(first), replicas, self._data(), first)
        stack.evaluated = evaluated_epochs(total) | {self.epochs or total}
        return stack

    def total_steps(self, unit: str) -> int:
        """Return the number of epochs of a unit."""
        assert self.epochs is not None
        return self.epochs

    def results(self, stack: ReplicaStackT, members: Mapping[str, range]) -> Iterator[UnitResults]:
        for unit, own in members.items():
            scores, arrays = self.measure(stack, own, self.settings[unit])
            logs = [stack.logs[k] for k in own]
            rows = [{**row, "seconds": log.seconds} for row, log in zip(scores, logs, strict=True)]
            answers = self._answers(self.settings[unit], pd.DataFrame(scores))
            yield repetition_tables(unit, answers, rows, [log.curve for log in logs]), arrays

    def _answers(self, setting: ModelSetting, scores: pd.DataFrame) -> list[Answer]:
        """Return the mean and standard error over repetitions of every score."""
        name, label = setting.approximation, setting.label
        return [
            mean_answer(
                quantity, name, scores[column], label,
                published_value(self, name, label, column),
            )
            for column, quantity in quantities(self.draws).items()
            if column in scores and scores[column].notna().all()
        ]  # fmt: skip

    def _data(self) -> Data:
        images, device = load_images(self.images), torch.device(self.device)
        one_hot = np.eye(images.classes, dtype=np.float32)
        parts = (images.train, images.test, *map(one_hot.__getitem__, images.labels))
        return Data(*(torch.from_numpy(part).to(device) for part in parts))

    def shape(self, latents: int, **sizes: Any) -> Shape:
        """Return the sizes of a model of these images."""
        assert self.hidden is not None
        return Shape(load_images(self.images).pixels, self.hidden, latents, **sizes)

    def evaluations(self, unit: str) -> int:
        """Return the number of times that the curves of a unit are evaluated."""
        return len(evaluated_epochs(self.total_steps(unit)))
