"""Adversarial variational Bayes on images by estimator: Tables 10.1 and 10.2 of the thesis."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import nan
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch

from bnnbench.constraints import Between, Count, ListOf, OneOf, Whole
from bnnbench.data.images.base import load_images
from bnnbench.experiment.kinds.image_experiment import FORWARD, ImageExperiment, count_weights
from bnnbench.experiment.store.answer_tables import Answer, Sample, mean_answer, repetition_tables
from bnnbench.experiment.store.unit_store import UnitResults
from bnnbench.identity import no_identity
from bnnbench.suites.lam_density_ratio.adversarial_vb import names
from bnnbench.suites.lam_density_ratio.adversarial_vb.names import EstimatorSetting
from bnnbench.suites.lam_density_ratio.adversarial_vb.stack import ImageStack, Networks
from bnnbench.suites.lam_density_ratio.adversaries import Replica, TrainingLog
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, OK
from bnnbench.suites.lam_density_ratio.objectives import Objective
from bnnbench.suites.lam_density_ratio.schedule import Schedule
from bnnbench.types import UserError


@dataclass(frozen=True, kw_only=True)
class AdversarialVB(ImageExperiment[ImageStack]):
    """Trains encoder, decoder and density-ratio estimator in each configuration.

    Repetitions of the same number start from the same weights and see the same random numbers in
    every configuration with as many latent variables. Training and test images are joined, as in
    the thesis.

    Attributes:
        latents: numbers of latent variables.
        divergences: keys of `DIVERGENCES`.
        estimators: keys of `names.SYMBOLS`; those of `names.EXTRA` are run with GAN and the fewest
            latent variables only.
        noise: number of the encoder's noise inputs.
        schedule: a key of `names.SCHEDULES`, which has a value for each setting from `width` to
            `evaluate_every`; None for `small` on digits and `quick` otherwise.
        width: factor of the thesis's hidden layers.
        batch_size: number of images in a minibatch.
        pretraining_steps: this and all below but the last: see `Schedule`.
        learning_rates: of all networks, for each number of latent variables; None for the thesis's.
    """

    identity_name = "bnnbench.suites.lam_density_ratio.adversarial_vb.experiment.AdversarialVB"
    latents: Annotated[tuple[int, ...], ListOf(Whole(1, 1000), order="increasing")]
    divergences: Annotated[tuple[str, ...], ListOf(OneOf(*DIVERGENCES), order="distinct")]
    estimators: Annotated[tuple[str, ...], ListOf(OneOf(*names.SYMBOLS), order="distinct")]
    noise: Count
    schedule: Annotated[str | None, OneOf(*names.SCHEDULES)] = no_identity(None)
    width: Annotated[float | None, Between(0, 10)] = None
    batch_size: Annotated[int | None, Whole(1, 100_000)] = None
    pretraining_steps: Annotated[int | None, Whole(0)] = None
    estimator_steps: Annotated[int | None, Whole()] = None
    iterations: Annotated[int | None, Whole()] = None
    evaluate_every: Annotated[int | None, Whole()] = None
    learning_rates: Annotated[tuple[float, ...] | None, ListOf(Between(0, 1))] = None
    kind: ClassVar[str] = names.KIND
    unit_noun: ClassVar[str] = "configuration"
    step_noun: ClassVar[str] = "iterations"
    columns: ClassVar[tuple[str, ...]] = tuple(names.SCHEDULES["published"])

    def resolved(self) -> Self:
        """Take missing settings from the schedule, and learning rates from the thesis."""
        default = "small" if self.images.name == "digits" else "quick"
        schedule = self.schedule or default
        values = names.SCHEDULES.get(schedule, {})
        missing: dict[str, Any] = {k: v for k, v in values.items() if getattr(self, k) is None}
        if self.learning_rates is None and isinstance(self.latents, tuple):
            small = (names.SMALL_RATE,) * len(self.latents)
            rates = small if schedule == "small" else names.published_rates(self.latents)
            missing["learning_rates"] = rates
        return replace(self, **missing)

    def check(self) -> None:
        """Raise `UserError` for invalid settings and missing images."""
        super().check()
        assert self.learning_rates is not None
        if len(self.learning_rates) != len(self.latents):
            raise UserError(
                "experiment.learning_rates must have one rate for each of experiment.latents "
                f"({len(self.latents)}), not {len(self.learning_rates)}.",
                "experiment.learning_rates",
                "not_one_each",
            )
        if not self.settings:
            raise UserError(
                f"experiment.estimators={[*self.estimators]} are run with gan only; add one of "
                "class_probability, ratio and log_ratio, or add gan to experiment.divergences.",
                "experiment.estimators",
                "no_configuration",
            )

    @cached_property
    def settings(self) -> Mapping[str, EstimatorSetting]:
        every = map(
            EstimatorSetting._make, product(self.latents, self.divergences, self.estimators)
        )
        return {
            one.unit: one
            for one in every
            if one.estimator not in names.EXTRA
            or (one.latents, one.divergence) == (self.latents[0], names.GAN)
        }

    def stack_key(self, unit: str) -> Hashable:
        return self.settings[unit].latents

    def make_stack(self, units: Sequence[str]) -> ImageStack:
        replicas = [
            Replica(self.seed, k, _objective(self.settings[unit]))
            for unit in units
            for k in range(self.repetitions)
        ]
        source, latents = load_images(self.images), self.settings[units[0]].latents
        joined = torch.from_numpy(np.concatenate([source.train, source.test]))
        images, schedule = joined.to(self.device), self._schedule(latents)
        return ImageStack(self._networks(latents), replicas, images, schedule)

    def results(self, stack: ImageStack, members: Mapping[str, range]) -> Iterator[UnitResults]:
        errors = stack.log_ratio_errors()
        for unit, own in members.items():
            logs, setting = [stack.logs[k] for k in own], self.settings[unit]
            rows = [
                {**setting._asdict(), **_score(log), **{n: float(e[k]) for n, e in errors.items()}}
                for k, log in zip(own, logs, strict=True)
            ]
            answers = self._answers(setting, pd.DataFrame(rows))
            shown = next((k for k in own if stack.logs[k].status == OK), own[0])
            pictures = {name: one[None] for name, one in stack.pictures(shown).items()}
            tables = repetition_tables(unit, answers, rows, [log.curve for log in logs])
            yield tables, {names.IMAGES: pictures}

    def _networks(self, latents: int) -> Networks:
        assert self.width is not None
        return Networks(load_images(self.images).pixels, latents, self.noise, self.width)

    def _schedule(self, latents: int) -> Schedule:
        assert self.learning_rates is not None
        rate = self.learning_rates[self.latents.index(latents)]
        own = ("pretraining_steps", "estimator_steps", "iterations", "evaluate_every")
        return Schedule(
            **{name: getattr(self, name) for name in own},
            samples=self.batch_size or 0,
            estimator_rate=rate,
            posterior_rate=rate,
        )

    def _answers(self, setting: EstimatorSetting, scores: pd.DataFrame) -> list[Answer]:
        """Return means over the repetitions that did not fail, and their fraction."""
        name, label = setting.label, f"d = {setting.latents}"
        published = {"mae": names.PUBLISHED.get(setting, Sample()).mean}
        if names.differing_settings(vars(self), self.images.name, self.images.binarisation):
            published = {}
        finished = scores[scores["status"] == OK]
        answers = [
            mean_answer(quantity, name, finished[column], label, published.get(column, nan))
            for column, quantity in names.QUANTITIES.items()
            if len(finished)
        ]
        rate = len(finished) / len(scores)
        return [*answers, Answer(names.SUCCESS_RATE, name, rate, label)]

    def total_steps(self, unit: str) -> int:
        return self._schedule(self.settings[unit].latents).total_steps

    def work(self, unit: str) -> float:
        latents = self.settings[unit].latents
        sizes, schedule = self._networks(latents), self._schedule(latents)
        encoder, decoder, estimator = (
            count_weights(one.chains) for one in (sizes.encoder, sizes.decoder, sizes.estimator)
        )
        # The estimator takes two draws for each image, with one pass of the image's branch.
        contrast = 2 * estimator - count_weights([sizes.estimator.observation])
        steps = schedule.total_estimator_steps * (contrast + FORWARD * encoder)
        steps += schedule.iterations * (encoder + decoder + estimator)
        return steps * schedule.samples


def _objective(setting: EstimatorSetting) -> Objective:
    stable = setting.estimator == names.STABLE
    return Objective(setting.divergence, "log_ratio" if stable else setting.estimator, stable)


def _score(log: TrainingLog) -> dict[str, Any]:
    """Return the last evaluation of a repetition, its largest loss, and its failure."""
    last = log.curve[-1] if log.curve else {}
    rows = [row["largest_loss"] for row in log.curve[1:]]  # the first includes the pre-training
    return {
        **{name: last.get(name, nan) for name in names.QUANTITIES},
        "largest_loss": max(rows, default=nan),
        **{name: getattr(log, name) for name in ("status", "failed_at", "seconds")},
    }
