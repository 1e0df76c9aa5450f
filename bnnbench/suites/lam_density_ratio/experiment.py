"""The sprinkler: density-ratio variational inference compared with an exact posterior.

Chapters 5, 6, 8 and 9 of the density-ratio thesis (Lam 2018). A generator whose draws approximate
the posterior of the causes given an observation is trained against a density-ratio estimator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from bnnbench.constraints import Between, ListOf, OneOf, Whole, check_choice, check_settings
from bnnbench.experiment.kinds.resumable_stack import StackExperiment
from bnnbench.experiment.store.unit_store import UnitResults
from bnnbench.identity import no_identity
from bnnbench.suites.lam_density_ratio import names, posterior_distances
from bnnbench.suites.lam_density_ratio.adversaries import Replica, TrainingLog
from bnnbench.suites.lam_density_ratio.objectives import Objective
from bnnbench.suites.lam_density_ratio.schedule import FULL_SCHEDULES, SCHEDULES, Schedule
from bnnbench.suites.lam_density_ratio.stack import DensityRatioStack, Problem
from bnnbench.types import DuplicateConfiguration, UserError

CONFIGURATION = ("contrast", "divergence", "estimator")
"""Settings that name a run."""

MAX_SAMPLES = 20_000
"""Draws per observation and step that fit into memory."""

MAX_REPETITIONS = 1000
"""Each repetition writes one or two files and takes a minute or more."""

Count = Annotated[int | None, Whole()]

Rate = Annotated[float | None, Between(0, 1)]

STEP_SECONDS = 1.2e-3
"""Measured time of one estimator step with 500 draws on a CPU core."""

RESULTS = ("estimator_loss", "nelbo", "status", "failed_at", "seconds")
"""Columns of `repetitions.csv` that are fields of the log."""

KL_ROUNDS = 20
"""Rounds of 1000 draws per observation from which the nearest-neighbour KL is estimated."""


@dataclass(frozen=True, kw_only=True)
class Sprinkler(StackExperiment[DensityRatioStack]):
    """Density-ratio variational inference on the sprinkler; each repetition is a unit.

    The random numbers of a repetition depend on its number only, not on what it is stacked with.
    Repetitions of the same number start from the same weights and see the same random numbers in
    every configuration.

    Attributes:
        contrast: the two densities that the estimator separates. `prior`: q(z|x) and the prior at
            the same observation, for which the generator's loss needs the likelihood (4.1.2).
            `joint`: pairs of causes and observation, so that the likelihood may be implicit
            too (4.1.4).
        divergence: `kl_posterior_prior`, KL(q || p), which the thesis calls reverse KL (4.2), or
            `gan`, 2 JS - log 4 (4.1).
        estimator: `log_ratio`, `ratio`, `class_probability`, or `relu_ratio` of chapter 5.
        numerics: `published`: naive float32 with a constant inside logarithms, as in the thesis's
            programs; `stable`: the form without saturation that the first three estimators share.
        observations: `data`: q(x) is the data, five atoms, as published; `model`: draws from p(x).
            With `data` the joint contrast has no finite optimum.
        data: the observations.
        schedule: a key of `SCHEDULES`, which has a value for each of the following settings.
        pretraining_steps: this and all below: see `Schedule`; None for the schedule's value.
        repetitions: number of repetitions; None for the schedule's value.
    """

    identity_name = "bnnbench.suites.lam_density_ratio.experiment.Sprinkler"
    contrast: Annotated[str, OneOf(*names.CONTRASTS)]
    divergence: Annotated[str, OneOf(*names.DIVERGENCES)]
    estimator: Annotated[str, OneOf(*names.SYMBOLS)]
    numerics: Annotated[str, OneOf("published", "stable")]
    observations: Annotated[str, OneOf("data", "model")]
    data: Annotated[
        tuple[float, ...], ListOf(Between(0, math.inf, low_included=True), order="distinct")
    ]
    schedule: Annotated[str, OneOf(*SCHEDULES)] = no_identity()
    pretraining_steps: Annotated[int | None, Whole(0)] = None
    estimator_steps: Count = None
    iterations: Count = None
    samples: Annotated[int | None, Whole(2, MAX_SAMPLES)] = None
    estimator_rate: Rate = None
    posterior_rate: Rate = None
    decay_from: Annotated[float | None, Between(0, low_included=True)] = None
    evaluate_every: Count = None
    repetitions: Annotated[int, Whole(1, MAX_REPETITIONS)] = no_identity(None)
    kind: ClassVar[str] = names.KIND
    unit_noun: ClassVar[str] = "repetition"
    step_noun: ClassVar[str] = "iterations"

    def resolved(self) -> Self:
        """Take missing settings from the schedule, and make observations floats."""
        check_choice("experiment.contrast", self.contrast, tuple(names.CONTRASTS))
        check_choice("experiment.schedule", self.schedule, tuple(SCHEDULES))
        settings: dict[str, Any] = {
            name: value
            for name, value in SCHEDULES[self.schedule][self.contrast].items()
            if getattr(self, name) is None
        }
        if isinstance(self.data, tuple):  # 5 and 5.0 are the same run
            settings["data"] = tuple(float(x) if type(x) is int else x for x in self.data)
        schedule = FULL_SCHEDULES.get(self.schedule, self.schedule)
        return replace(self, schedule=schedule, **settings)

    def check(self) -> None:
        """Raise `UserError` for invalid or incompatible settings."""
        check_settings(self, "experiment", ("seed",))
        if self.numerics == "stable" and self.estimator == names.RELU_RATIO:
            raise UserError(
                f"experiment.estimator={names.RELU_RATIO} has no stable form, because a ReLU is "
                "not a function of the log ratio; use experiment.numerics=published.",
                setting="experiment.numerics",
                code="no_stable_form",
            )
        if self.numerics == "stable" and self.estimator != "log_ratio":
            raise DuplicateConfiguration(
                f"experiment.estimator={self.estimator} is the same algorithm as log_ratio with "
                "experiment.numerics=stable; use experiment.estimator=log_ratio.",
                setting="experiment.estimator",
                code="same_algorithm",
            )

    @property
    def title(self) -> str:
        return ", ".join(("sprinkler", *self._configuration))

    @property
    def _configuration(self) -> tuple[str, ...]:
        return tuple(getattr(self, name) for name in CONFIGURATION)

    @property
    def _training(self) -> Schedule:
        """The schedule with single settings overridden, once they are resolved."""
        return Schedule(**{field.name: getattr(self, field.name) for field in fields(Schedule)})

    def metadata(self) -> dict[str, Any]:
        settings = (*CONFIGURATION, "numerics", "observations", "schedule")
        return {
            **{name: getattr(self, name) for name in settings},
            **asdict(self._training),
            "data": list(self.data),
            "seed": self.seed,
        }

    def path_parts(self) -> tuple[str, ...]:
        variant = f"{self.schedule}-{self.numerics}-{self.observations}-seed{self.seed}"
        return ("-".join(self._configuration), variant)

    def units(self) -> tuple[str, ...]:
        return tuple(f"repetition-{k:02d}" for k in range(self.repetitions))

    @property
    def _problem(self) -> Problem:
        joint, model = self.contrast == "joint", self.observations == "model"
        return Problem(joint, model, self.data, self._training, self.device)

    @property
    def _objective(self) -> Objective:
        joint, stable = self.contrast == "joint", self.numerics == "stable"
        return Objective(self.divergence, self.estimator, stable, guarded=joint)

    def make_stack(self, units: Sequence[str]) -> DensityRatioStack:
        numbers = [int(unit.rpartition("-")[2]) for unit in units]
        replicas = [Replica(self.seed, number, self._objective) for number in numbers]
        return DensityRatioStack(self._problem, replicas)

    def results(
        self, stack: DensityRatioStack, members: Mapping[str, range]
    ) -> Iterator[UnitResults]:
        """Yield the curve and the scores of each repetition, and last draws of its generator."""
        last = stack.samples("last").cpu().numpy()
        rounds = [stack.samples("measured", k).cpu().numpy() for k in range(KL_ROUNDS)]
        draws = np.stack(rounds, 3).reshape(*last.shape[:2], -1, 2)
        for k, log in enumerate(stack.logs):
            kl = posterior_distances.nearest_neighbour_kl(draws[k], self.data)
            number = {"repetition": stack.replicas[k].repetition}
            tables = {
                names.CURVES: [{**number, **row} for row in log.curve],
                names.REPETITIONS: [{**number, **result_row(log, kl)}],
            }
            yield tables, {names.SAMPLES: {names.SAMPLES: last[k : k + 1]}}

    def total_steps(self, unit: str) -> int:
        return self._training.total_steps

    def unit_seconds(self, unit: str) -> float:
        """Return the steps of the estimator times the seconds of one."""
        relative = 1.4 if self.contrast == "joint" else 1.0
        step = STEP_SECONDS * relative * self._problem.columns / 500
        return step * self._training.total_estimator_steps


def result_row(log: TrainingLog, kl: float) -> dict[str, float | str | int | None]:
    """Return a row of `repetitions.csv` without the number of the repetition.

    `average_kl` is the last evaluation, as in the thesis's tables; if the repetition failed, the
    last one before the failure.

    Args:
        log: log of the training.
        kl: KL divergence of the final generator from the posterior, by nearest neighbours.
    """
    return {
        "average_kl": log.curve[-1]["average_kl"] if log.curve else math.nan,
        "kl": kl,
        **{name: getattr(log, name) for name in RESULTS},
    }
