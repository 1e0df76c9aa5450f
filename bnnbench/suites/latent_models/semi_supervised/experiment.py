"""Semi-supervised learning by number of labels: Table 5.2 of the book."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from bnnbench.constraints import Between, ListOf, OneOf, Positive, Whole
from bnnbench.data.images.base import load_images
from bnnbench.experiment.kinds.image_experiment import FORWARD, count_weights
from bnnbench.experiment.store.unit_store import Arrays
from bnnbench.identity import optional_identity
from bnnbench.suites.latent_models.autoencoder import Shape
from bnnbench.suites.latent_models.experiment import LatentModelExperiment, ModelSetting
from bnnbench.suites.latent_models.semi_supervised.stack import (
    ENUMERATION,
    LABELLED,
    MIXED,
    PAIRED,
    SUPERVISED,
    UNLABELLED,
    SemiSupervisedStack,
    SemiTraining,
)
from bnnbench.suites.latent_models.training import AutoencoderReplica, Data
from bnnbench.types import UserError

APPROXIMATIONS = {
    MIXED: "semi-supervised, mixed batches",
    PAIRED: "semi-supervised, paired batches",
    ENUMERATION: "semi-supervised, paired batches, enumeration",
    SUPERVISED: "supervised",
}
"""Names in `answers.csv`."""

DEFAULT_LABELS = {"digits": (10, 20, 70, 140), "mnist_5000": (20, 40, 200, 400)}
"""Numbers of labels by set, if they are not the book's."""

BOOK_LABELS = (100, 300, 600, 3000, 6000)


def unit_of(method: str, labels: int) -> str:
    """Return the name of a unit."""
    return f"{method}-{labels:05d}"


@dataclass(frozen=True)
class SemiSetting(ModelSetting):
    """What a unit trains.

    Attributes:
        method: `mixed`, `paired`, `enumeration` or `supervised`.
        labels: number of labelled images.
    """

    method: str = MIXED
    labels: int = 0

    @property
    def can_stack(self) -> tuple[Any, ...]:
        """Equal for settings with the same minibatches."""
        return self.method, self.labels


@dataclass(frozen=True, kw_only=True)
class SemiSupervised(LatentModelExperiment[SemiSupervisedStack]):
    """Trains semi-supervised VAEs, and their classifiers alone, for each number of labels.

    Attributes:
        labels: numbers of labelled images; None for 10, 20, 70 and 140 on digits, 20, 40, 200 and
            400 on mnist_5000 and the book's otherwise.
        batches: `mixed`: one shuffled set, as (5.38) says; `paired`: every minibatch of images
            without labels comes with one of labelled images.
        enumerated: numbers of labels that are also trained by enumeration of the labels; None for
            the largest.
        epoch_ends: of paired batches and enumeration. `unlabelled`: an epoch is a pass through all
            images, whose labels are not used; `labelled`: it is a pass through the labelled images.
        latents: number of latent variables; None for 8 on digits and 32 otherwise.
        temperature: of the relaxation.
        weight: of log q(y|x) of labelled images.
        supervised_epochs: number of passes of the supervised baseline through the labelled images;
            its accuracy is also recorded after `epochs`.
    """

    identity_name = "bnnbench.suites.latent_models.semi_supervised.experiment.SemiSupervised"
    labels: Annotated[tuple[int, ...] | None, ListOf(Whole(), order="increasing")] = None
    batches: Annotated[tuple[str, ...], ListOf(OneOf(MIXED, PAIRED), order="distinct")]
    enumerated: Annotated[
        tuple[int, ...] | None, ListOf(Whole(), order="increasing", minimum=0)
    ] = None
    epoch_ends: Annotated[str, OneOf(UNLABELLED, LABELLED)] = optional_identity(UNLABELLED)
    latents: Annotated[int | None, Whole(1, 1000)] = None
    temperature: Annotated[float, Between(0, 100)]
    weight: Positive
    supervised_epochs: Annotated[int, Whole(1, 100_000)]
    kind: ClassVar[str] = "semi_supervised"

    def resolved(self) -> Self:
        small, name = self.images.name == "digits", self.images.name
        defaults: dict[str, Any] = {
            "hidden": (200, 200) if small else (400, 200),
            "epochs": 40,
            "labels": DEFAULT_LABELS.get(name, BOOK_LABELS),
            "latents": 8 if small else 32,
        }
        missing = {key: value for key, value in defaults.items() if getattr(self, key) is None}
        return replace(self, **missing)

    def check(self) -> None:
        """Raise `UserError` for invalid settings and missing images."""
        super().check()
        images = load_images(self.images)
        most = int(np.bincount(images.train_labels).min()) * images.classes
        for name, counts in (("labels", self.labels), ("enumerated", self._enumerated)):
            for count in counts or ():
                if count % images.classes or not count <= most:
                    raise UserError(
                        f"experiment.{name} must be multiples of {images.classes}, the number of "
                        f"classes, up to {most}, not {count}.",
                        f"experiment.{name}",
                        "not_a_multiple",
                    )
        if self.epoch_ends == LABELLED and MIXED in self.batches:
            raise UserError(
                f"experiment.epoch_ends={LABELLED} needs minibatches of labelled images, which "
                f"{MIXED} batches do not have; set experiment.batches=[{PAIRED}].",
                "experiment.epoch_ends",
                "no_effect",
            )
        assert self.epochs is not None
        if self.supervised_epochs < self.epochs:
            raise UserError(
                f"experiment.supervised_epochs must be at least {self.epochs}, the epochs of the "
                f"semi-supervised models, not {self.supervised_epochs}.",
                "experiment.supervised_epochs",
                "too_small",
            )

    @property
    def _enumerated(self) -> tuple[int, ...]:
        """Numbers of labels that are also trained by enumeration."""
        assert self.labels is not None
        return self.labels[-1:] if self.enumerated is None else self.enumerated

    @cached_property
    def settings(self) -> Mapping[str, SemiSetting]:
        assert self.latents is not None and self.labels is not None
        shape = self.shape(self.latents, labels=load_images(self.images).classes, classifier=True)
        pairs = [(method, count) for method in (*self.batches, SUPERVISED) for count in self.labels]
        pairs += [(ENUMERATION, count) for count in self._enumerated]
        return {
            unit_of(method, count): SemiSetting(
                APPROXIMATIONS[method], f"{count} labels", shape, method=method, labels=count
            )
            for method, count in pairs
        }

    def new_replicas(
        self,
        shape: Shape,
        replicas: Sequence[AutoencoderReplica],
        data: Data,
        setting: ModelSetting,
    ) -> SemiSupervisedStack:
        assert isinstance(setting, SemiSetting)
        return SemiSupervisedStack(shape, replicas, data, self._training(setting))

    def _training(self, setting: SemiSetting) -> SemiTraining:
        return SemiTraining(
            setting.method, setting.labels, self.batch_size, self.learning_rate, self.temperature,
            self.weight, self.epoch_ends,
        )  # fmt: skip

    def total_steps(self, unit: str) -> int:
        supervised = self.settings[unit].method == SUPERVISED
        return self.supervised_epochs if supervised else super().total_steps(unit)

    def work(self, unit: str) -> float:
        setting, images = self.settings[unit], load_images(self.images)
        chains = encoder, _, classifier = setting.shape.chains
        every, of_class = count_weights(chains), count_weights([classifier])
        steps, pairs = self._training(setting).steps_per_epoch(len(images.train)), 0.0
        columns = min(len(images.train), steps * self.batch_size)
        if setting.method in (PAIRED, ENUMERATION):
            pairs = columns * min(1, setting.labels / self.batch_size)
        epoch = every * (columns + pairs)
        if setting.method == ENUMERATION:
            of_pixels = setting.shape.pixels * encoder[1]
            repeated = every - of_class - of_pixels
            epoch += (setting.shape.labels - 1) * repeated * columns
        elif setting.method == SUPERVISED:
            epoch = of_class * setting.labels
        evaluated = self.evaluations(unit) * len(images.test)
        return self.total_steps(unit) * epoch + FORWARD * evaluated * of_class

    def measure(
        self, stack: SemiSupervisedStack, members: range, setting: ModelSetting
    ) -> tuple[list[dict[str, Any]], dict[str, Arrays]]:
        assert isinstance(setting, SemiSetting)
        scores: list[dict[str, Any]] = []
        for k in members:
            curve = {row["epoch"]: row["accuracy_test"] for row in stack.logs[k].curve}
            last = max(curve)
            scores.append({"accuracy": curve[last], "accuracy_equal": curve[self.epochs]})
        if setting.method != SUPERVISED:
            bounds = stack.unlabelled_bound()
            for score, k in zip(scores, members, strict=True):
                score["unlabelled_bound"] = bounds[k]
        return scores, {}
