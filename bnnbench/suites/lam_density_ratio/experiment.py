"""The sprinkler: density-ratio variational inference against an exact posterior.

Chapters 5, 6, 8 and 9 of the density-ratio thesis (Lam 2018). A generator's draws approximate the
posterior of the causes given an observation; it learns against an estimator of a density ratio.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from bnnbench.checks import check_between, check_choice, check_int
from bnnbench.experiment.base import Experiment, Member
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.identity import no_identity
from bnnbench.suites.lam_density_ratio import state_file
from bnnbench.suites.lam_density_ratio.contrast import Contrast
from bnnbench.suites.lam_density_ratio.objectives import Estimator, Objective, RatioDivergence
from bnnbench.suites.lam_density_ratio.repetition import Repetition, run_repetitions
from bnnbench.suites.lam_density_ratio.schedule import Schedule
from bnnbench.suites.lam_density_ratio.stack import Problem, Replica
from bnnbench.suites.lam_density_ratio.tables import KIND
from bnnbench.types import Redundant, UserError

MOST_REPETITIONS = 1000
"""Each is a file or two, and the better part of a minute at least."""

STEP_SECONDS = 1.2e-3
"""Of one step of the estimator with 500 draws on a CPU core, measured."""


@dataclass(frozen=True, kw_only=True)
class Sprinkler(Experiment):
    """Repetitions of one configuration; each is a unit.

    Every repetition has random numbers of its own, whatever it is stacked with, and those of the
    same number start alike and see the same numbers in every configuration.

    Attributes:
        contrast: what the estimator tells apart.
        divergence: `reverse_kl`, which is KL(q || p), or `gan`.
        estimator: what it estimates: T, r, D or the ReLU ratio of chapter 5.
        schedule: of the protocol.
        numerics: `published` is naive float32 with a constant in logarithms, as the thesis's
            programs have it; `stable` the form without saturation, which T, r and D share.
        observations: `data`: q(x) is the data, five atoms, as published; `model`: draws of p(x),
            without which the joint contrast has no finite optimum.
        data: the observations.
        seed: of everything random.
        device: `cpu` or `cuda`.
        repetitions: how many.
    """

    contrast: Contrast
    divergence: RatioDivergence
    estimator: Estimator
    schedule: Schedule
    numerics: str
    observations: str
    data: tuple[float, ...]
    seed: int
    device: str
    repetitions: int = no_identity()
    kind: ClassVar[str] = KIND
    unit_noun: ClassVar[str] = "repetition"
    step_noun: ClassVar[str] = "iterations"

    @classmethod
    def admit(cls, label: str, chosen: Mapping[str, type]) -> None:
        """Refuses divergences that no estimator of a ratio bounds."""
        given = chosen["divergence"]
        if not issubclass(given, RatioDivergence):
            raise UserError(
                f"experiment={label} estimates density ratios from samples, which divergence="
                f"{given.__name__} does not; use divergence=reverse_kl or divergence=gan."
            )

    def resolved(self) -> Self:
        """The same with observations as floats: 5 and 5.0 are one run."""
        if not isinstance(self.data, tuple):
            return self
        data = tuple(float(x) if type(x) is int else x for x in self.data)
        return replace(self, data=data)

    def check(self) -> None:
        """Raises `UserError` for settings that do not go together."""
        check_int("seed", self.seed, least=0)
        check_int("repetitions", self.repetitions)
        if self.repetitions > MOST_REPETITIONS:
            raise UserError(
                f"repetitions must be at most {MOST_REPETITIONS}, not {self.repetitions}."
            )
        check_choice("numerics", self.numerics, ("published", "stable"))
        check_choice("observations", self.observations, ("data", "model"))
        if not isinstance(self.data, tuple) or not self.data:
            raise UserError(f"experiment.data must be a list of observations, not {self.data!r}.")
        for x in self.data:
            check_between("experiment.data", x, 0, math.inf, low_included=True)
        if len(set(self.data)) < len(self.data):
            raise UserError(f"experiment.data must be different observations, not {self.data!r}.")
        if self.numerics == "stable" and self.estimator.label == "relu":
            raise UserError(
                "estimator=relu has no stable form, since a ReLU is no function of the logarithm "
                "of the ratio; use numerics=published."
            )
        if self.numerics == "stable" and self.estimator.label != "T":
            raise Redundant(
                f"estimator={self.estimator.label} is the same algorithm as estimator=T with "
                "numerics=stable; use estimator=T."
            )

    @property
    def title(self) -> str:
        return "sprinkler, " + ", ".join(self._configuration.values())

    @property
    def _configuration(self) -> dict[str, str]:
        return {
            "contrast": self.contrast.label,
            "divergence": self.divergence.label,
            "estimator": self.estimator.label,
        }

    def names(self) -> dict[str, Any]:
        return {
            **self._configuration,
            "numerics": self.numerics,
            "observations": self.observations,
            "protocol": self.schedule.label,
            **self.schedule.settings,
            "data": list(self.data),
            "seed": self.seed,
        }

    def place(self) -> tuple[str, ...]:
        configuration = "-".join(self._configuration.values())
        form = f"{self.schedule.label}-{self.numerics}-{self.observations}-seed{self.seed}"
        return (configuration, form)

    def units(self) -> tuple[str, ...]:
        return tuple(f"repetition-{k:02d}" for k in range(self.repetitions))

    @property
    def lockstep(self) -> bool:
        """Whether all repetitions are one stack: on a GPU."""
        return self.device == "cuda"

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """All of them on a GPU, each alone on a CPU, whose cache a single one fills."""
        return (tuple(units),) if self.lockstep else tuple((unit,) for unit in units)

    def stacks_with(self, other: Experiment) -> bool:
        """On a GPU, configurations that differ in what is minimised only."""
        assert isinstance(other, Sprinkler)
        return self.lockstep and (self._problem, self.seed) == (other._problem, other.seed)

    def stack_room(self, alike: int) -> int:
        """All of them: configurations stack on a GPU only."""
        return alike

    @property
    def _problem(self) -> Problem:
        joint, model = self.contrast.label == "joint", self.observations == "model"
        return Problem(joint, model, self.data, self.schedule, self.device)

    @property
    def _objective(self) -> Objective:
        joint, stable = self.contrast.label == "joint", self.numerics == "stable"
        return Objective(self.divergence, self.estimator.label, stable, guarded=joint)

    @classmethod
    def run_group(cls, members: Sequence[Member], units: Sequence[str], workers: int = 1) -> None:
        """Trains the units of all members in as few stacks as their states allow."""
        first = members[0].experiment
        assert isinstance(first, Sprinkler)
        todo = [
            Repetition(experiment._replica(unit), store, unit)
            for experiment, store in members
            if isinstance(experiment, Sprinkler)
            for unit in units
            if not store.finished(unit)
        ]
        run_repetitions(first._problem, todo)

    def _replica(self, unit: str) -> Replica:
        return Replica(self._objective, self.seed, int(unit.rpartition("-")[2]))

    def steps(self, unit: str, store: UnitStore) -> tuple[int, int]:
        """Iterations, as far as they are on disk."""
        total = self.schedule.iterations + 1
        if store.finished(unit):
            return total, total
        return state_file.iteration(store.file(unit, state_file.SUFFIX)) + 1, total

    def cost(self, workers: int) -> float:
        """Steps of the estimator times what one takes on a CPU."""
        own = 1.4 if self.contrast.label == "joint" else 1.0
        step = STEP_SECONDS * own * self._problem.columns / 500
        return step * self.schedule.steps * math.ceil(self.repetitions / workers)
