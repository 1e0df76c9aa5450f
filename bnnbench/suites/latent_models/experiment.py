"""Base classes of the experiments of this suite: training, bounds of log p(x), saving units."""

from __future__ import annotations

import math
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
from bnnbench.experiment.kinds.image_experiment import FORWARD, ImageExperiment, count_weights
from bnnbench.experiment.store.answer_tables import Answer, mean_answer, repetition_tables
from bnnbench.experiment.store.unit_store import Arrays, UnitResults
from bnnbench.random_streams import derive_seed
from bnnbench.suites.latent_models.autoencoder import Shape
from bnnbench.suites.latent_models.names import BETA_VAE, IWAE, PLANAR, quantities
from bnnbench.suites.latent_models.published import HIDDEN, published_value
from bnnbench.suites.latent_models.stack import (
    OTHER_LABELS,
    TRAIN_ROWS,
    AutoencoderStack,
    count_active_units,
    probe_predictions,
)
from bnnbench.suites.latent_models.training import (
    AutoencoderReplica,
    Data,
    ReplicaStack,
    evaluated_epochs,
)

EPOCHS = {"digits": 400, "mnist_5000": 300}
"""Epochs of small sets, whose epochs have few steps; the book's 100 epochs otherwise."""


PLANAR_STEP = 2000
"""Weights that take as long as a planar step of a column: 1300 with 8 latent variables, 2300 with
32."""


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


@dataclass(frozen=True, kw_only=True)
class AutoencoderExperiment(LatentModelExperiment[AutoencoderStack]):
    """Trains variational autoencoders and computes bounds of log p(x) of test images.

    Attributes:
        importance_samples: draws of q(z|x) for each image in the bound of log p(x).
        evaluated_images: size of the random subset of the test images on which bounds of log p(x)
            are computed, the same for all models of a run; None for all.
    """

    importance_samples: Annotated[int, Whole(2, 100_000)]
    evaluated_images: Annotated[int | None, Whole(1, 1_000_000)] = None

    def new_replicas(
        self,
        shape: Shape,
        replicas: Sequence[AutoencoderReplica],
        data: Data,
        setting: ModelSetting,
    ) -> AutoencoderStack:
        training = self.batch_size, self.learning_rate, setting.samples
        return AutoencoderStack(shape, replicas, data, *training)

    @property
    def draws(self) -> int:
        return self.importance_samples

    def evaluated_rows(self, images: int) -> slice | list[int]:
        """Return which test images bounds of log p(x) are computed on, in increasing order."""
        if self.evaluated_images is None or self.evaluated_images >= images:
            return slice(None)
        random = np.random.default_rng(derive_seed(self.seed, "evaluated images"))
        return sorted(random.permutation(images)[: self.evaluated_images].tolist())

    def work(self, unit: str) -> float:
        setting, images = self.settings[unit], load_images(self.images)
        encoder, decoder = (count_weights([chain]) for chain in setting.shape.chains)
        of_sample = decoder + PLANAR_STEP * setting.shape.flow
        epoch = len(images.train) * (encoder + setting.samples * of_sample)
        evaluated = min(len(images.train), TRAIN_ROWS) + len(images.test)
        curves = self.evaluations(unit) * evaluated * (encoder + of_sample)
        labellings = 1 + setting.shape.labels / OTHER_LABELS
        points = min(len(images.test), self.evaluated_images or len(images.test))
        draws = points * self.importance_samples * labellings
        return self.total_steps(unit) * epoch + FORWARD * (curves + draws * of_sample)

    def measure(
        self, stack: AutoencoderStack, members: range, setting: ModelSetting
    ) -> tuple[list[dict[str, Any]], dict[str, Arrays]]:
        unit, data = stack.part(members), stack.data
        rows = self.evaluated_rows(len(data.test))
        images = data.test[rows], data.test_labels[rows]
        found = unit.importance_sampling(*images, self.importance_samples)
        codes = unit.codes(data.train[:TRAIN_ROWS], data.train_labels)
        test_codes = unit.codes(data.test, data.test_labels)
        labels, test_labels = (
            part.argmax(1).cpu().numpy() for part in (data.train_labels, data.test_labels)
        )
        scores = []
        for k in range(len(members)):
            predicted = probe_predictions(codes[k], labels[: len(codes[k])], test_codes[k])
            values = {name: float(each[k].mean()) for name, each in found.items()}
            log_p = found["log_p"][k]
            scores.append({
                "elbo_train": unit.logs[k].curve[-1]["elbo_train"],
                **values,
                "log_p_image_error": float(log_p.std(ddof=1) / math.sqrt(len(log_p))),
                "active_units": count_active_units(codes[k]),
                "probe_accuracy": 100 * float((predicted == test_labels).mean()),
            })  # fmt: skip
        return scores, self.arrays(unit, test_codes[0], setting)

    def arrays(
        self, unit: AutoencoderStack, codes: np.ndarray, setting: ModelSetting
    ) -> dict[str, Arrays]:
        """Return the arrays of figures, by file: none.

        Args:
            unit: the replicas of the unit.
            codes: means of q(z|x) of the test images in the first repetition, `[M, d]`.
            setting: of the unit.
        """
        return {}


@dataclass(frozen=True, kw_only=True)
class PlanarFlows(AutoencoderExperiment):
    """Trains a VAE for each length of a planar flow, and IWAEs without a flow.

    Attributes:
        latents: number of latent variables; None for 8 on digits and 32 otherwise.
        lengths: numbers of planar steps, whose parameters are outputs of the encoder.
        training_samples: numbers of samples in the bounds that IWAEs maximise.
    """

    identity_name = "bnnbench.suites.latent_models.planar_flows.experiment.PlanarFlows"
    latents: Annotated[int | None, Whole(1, 1000)] = None
    lengths: Annotated[tuple[int, ...], ListOf(Whole(0, 1000), order="increasing")]
    training_samples: Annotated[
        tuple[int, ...], ListOf(Whole(2, 1000), length=None, order="increasing", minimum=0)
    ]
    kind: ClassVar[str] = "planar_flows"

    def resolved(self) -> Self:
        latents = 8 if self.images.name == "digits" else 32
        return replace(
            super().resolved(), latents=latents if self.latents is None else self.latents
        )

    @cached_property
    def settings(self) -> Mapping[str, ModelSetting]:
        assert self.latents is not None
        flows = {
            f"flow-{length}": ModelSetting(
                PLANAR, f"K = {length}", self.shape(self.latents, flow=length)
            )
            for length in self.lengths
        }
        weighted = {
            f"iwae-{samples}": ModelSetting(
                IWAE, f"T = {samples}", self.shape(self.latents), samples=samples
            )
            for samples in self.training_samples
        }
        return {**flows, **weighted}


@dataclass(frozen=True, kw_only=True)
class DistortionRate(AutoencoderExperiment):
    """Trains a VAE for each factor beta of the KL divergence (5.13).

    Attributes:
        latents: number of latent variables.
        betas: the factors.
    """

    identity_name = "bnnbench.suites.latent_models.distortion_rate.experiment.DistortionRate"
    latents: Count
    betas: Annotated[
        tuple[float, ...], ListOf(Between(0.001, 1000, True), order="increasing", minimum=2)
    ]
    kind: ClassVar[str] = "distortion_rate"

    @cached_property
    def settings(self) -> Mapping[str, ModelSetting]:
        shape = self.shape(self.latents)
        # Names of equal length, so that the tables of a run are in the order of beta.
        return {
            f"beta-{beta:08.3f}".replace(".", "_"): ModelSetting(
                BETA_VAE, f"beta = {beta:g}", shape, float(beta)
            )
            for beta in self.betas
        }
