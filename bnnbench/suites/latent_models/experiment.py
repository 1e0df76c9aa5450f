"""What the experiments of this suite share: training, measuring and saving units."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch

from bnnbench.constraints import Between, Count, ListOf, Whole
from bnnbench.data.images.base import load_images
from bnnbench.experiment.image_experiment import (
    ImageExperiment,
    read_states,
    remove_state,
    saved_step,
    write_states,
)
from bnnbench.experiment.run_folder import UnitStore
from bnnbench.results.saved_run import ANSWERS, CURVES, SCORES, Answer
from bnnbench.suites.latent_models.names import QUANTITIES
from bnnbench.suites.latent_models.networks import Shape
from bnnbench.suites.latent_models.published import published_value
from bnnbench.suites.latent_models.training import (
    Data,
    Replica,
    ReplicaStack,
    evaluated_epochs,
    train,
)

HIDDEN = {"fashion_mnist": (400, 200)}
"""Sizes of hidden layers by set, if they are not (200,) (book, 5.6.2)."""

EPOCHS = {"digits": 400, "mnist_5000": 300}
"""Epochs of small sets, whose epochs have few steps; the book's 100 epochs otherwise."""

STEP_SECONDS = 2e-10
"""Measured seconds of a training step per column and weight of a replica."""


@dataclass(frozen=True)
class Setting:
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


@dataclass(frozen=True, kw_only=True)
class LatentModelExperiment(ImageExperiment):
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
    def settings(self) -> Mapping[str, Setting]:
        """The setting of each unit."""

    @abstractmethod
    def make_stack(
        self, shape: Shape, replicas: Sequence[Replica], data: Data, setting: Setting
    ) -> ReplicaStack:
        """Return new replicas.

        Args:
            shape: sizes that all replicas are padded to.
            replicas: the replicas.
            data: images and labels.
            setting: of the first replica; the others can be stacked with it.
        """

    @abstractmethod
    def results(
        self, stack: ReplicaStack, members: range, setting: Setting, data: Data
    ) -> tuple[list[dict[str, Any]], dict[str, dict[str, np.ndarray]]]:
        """Measure the trained replicas of a unit.

        Args:
            stack: the stack that they are part of.
            members: their positions in it.
            setting: of the unit.
            data: images and labels.

        Returns:
            A row of scores for each replica, and arrays by file.
        """

    def stack_key(self, unit: str) -> Hashable:
        return self.settings[unit].can_stack

    def _stack_shape(self, setting: Setting) -> Shape:
        """Return the shape of a unit's stack, which does not depend on the requested units."""
        if not self.lockstep:
            return setting.shape
        shapes = [s.shape for s in self.settings.values() if s.can_stack == setting.can_stack]
        widest = {name: max(getattr(s, name) for s in shapes) for name in ("latents", "labels")}
        return replace(setting.shape, **widest)

    def run_stack(self, units: Sequence[str], store: UnitStore) -> None:
        first, data, count = self.settings[units[0]], self._data(), self.repetitions
        replicas = [
            Replica(self.settings[unit].shape, self.seed, k, self.settings[unit].beta)
            for unit in units
            for k in range(count)
        ]
        stack = self.make_stack(self._stack_shape(first), replicas, data, first)
        done, states = read_states(store, units)
        for k, state in enumerate(states):
            stack.restore(k, state)

        def save(epoch: int) -> None:
            write_states(store, units, epoch, [stack.state(k) for k in range(len(replicas))])

        epochs = self._epochs(first)
        evaluated = evaluated_epochs(epochs) | {self.epochs or epochs}
        train(stack, evaluated, epochs, max(done, 0), save)
        for position, unit in enumerate(units):
            own = range(position * count, (position + 1) * count)
            self._save_results(unit, stack, own, data, store)
            remove_state(store, unit)

    def _epochs(self, setting: Setting) -> int:
        """Return the number of epochs of a unit."""
        assert self.epochs is not None
        return self.epochs

    def _save_results(
        self, unit: str, stack: ReplicaStack, members: range, data: Data, store: UnitStore
    ) -> None:
        setting = self.settings[unit]
        scores, arrays = self.results(stack, members, setting, data)
        logs = [stack.logs[k] for k in members]
        keys = [{"unit": unit, "repetition": k} for k in range(len(members))]
        rows = [
            {**key, **score, "seconds": log.seconds}
            for key, score, log in zip(keys, scores, logs, strict=True)
        ]
        curves = [{**key, **row} for key, log in zip(keys, logs, strict=True) for row in log.curve]
        answers = [answer.row() for answer in self._answers(setting, pd.DataFrame(scores))]
        store.save(unit, {ANSWERS: answers, SCORES: rows, CURVES: curves}, arrays)

    def _answers(self, setting: Setting, scores: pd.DataFrame) -> list[Answer]:
        """Return the mean and standard error over repetitions of every score."""
        answers = []
        for column, quantity in QUANTITIES.items():
            if column in scores and scores[column].notna().all():
                error = scores[column].std(ddof=1) / math.sqrt(len(scores))
                name, label = setting.approximation, setting.label
                published = published_value(self.images, name, label, column)
                value = float(scores[column].mean())
                answers.append(
                    Answer(quantity, name, value, label, float(error), published=published)
                )
        return answers

    def _data(self) -> Data:
        images, device = load_images(self.images), torch.device(self.device)
        one_hot = np.eye(images.classes, dtype=np.float32)
        parts = (images.train, images.test, *map(one_hot.__getitem__, images.labels))
        return Data(*(torch.from_numpy(part).to(device) for part in parts))

    def shape(self, latents: int, **sizes: Any) -> Shape:
        """Return the sizes of a model of these images."""
        assert self.hidden is not None
        return Shape(load_images(self.images).pixels, self.hidden, latents, **sizes)

    def count_steps(self, unit: str, store: UnitStore) -> tuple[int, int]:
        """Return the numbers of epochs saved on disk and in total."""
        total = self._epochs(self.settings[unit])
        return total if store.finished(unit) else max(saved_step(store, unit), 0), total

    def cost(self, workers: int) -> float:
        """Return the columns of all training steps times weights and seconds of each."""
        rows, total = len(load_images(self.images).train), 0.0
        for setting in self.settings.values():
            size = sum(a * b for chain in setting.shape.chains for a, b in pairwise(chain))
            flows = 2000 * setting.shape.flow
            total += (size + flows) * setting.samples * self._epochs(setting)
        return STEP_SECONDS * total * rows * self.repetitions / workers
