"""A Bayesian mixture of Gaussians by coordinate ascent, stochastic VI and variational EM.

Density-ratio thesis, section 3.6; book, sections 3.2.1.4 and 3.2.1.5. Neither reports a number, so
the references are the exact posterior of ten points, by a sum over all assignments, and the true
means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bnnbench.checks import check_between, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.gaussian_mixture import names, parts
from bnnbench.suites.inference_toys.gaussian_mixture.enumeration import MAX_ASSIGNMENTS
from bnnbench.suites.inference_toys.gaussian_mixture.model import SyntheticData, check_means
from bnnbench.suites.inference_toys.gaussian_mixture.problem import PartResults, Problem
from bnnbench.suites.inference_toys.gaussian_mixture.stochastic import Schedule
from bnnbench.suites.inference_toys.gaussian_mixture.stochastic_part import Budget, stochastic_vi
from bnnbench.types import UserError


@dataclass(frozen=True, kw_only=True)
class GaussianMixture(Experiment):
    """Compares variational approximations of a mixture with exact values where they are feasible.

    Each part is a unit. `few`: coordinate ascent on so few points that the exact posterior is a
    feasible sum over all assignments. `many`: on so many points that starts converge to different
    optima. `fitted`: variational EM for the prior variance on the few points. `stochastic`:
    stochastic VI on the many points with three step-size schedules.

    Attributes:
        few_means: true means of the small data set, whose assignments are enumerated.
        few_points: number of points of the small data set.
        many_means: true means of the large data set.
        many_points: number of points of the large data set.
        data_seed: seed of both data sets.
        prior_variance: prior variance of the means.
        starts: number of starts of coordinate ascent, drawn from the prior.
        iterations: maximum number of iterations of coordinate ascent.
        tolerance: relative change of the ELBO at convergence.
        held_out: number of held-out points.
        batch: minibatch size of stochastic VI.
        passes: number of passes of stochastic VI through the large data set.
        repetitions: repetitions of stochastic VI, each with its own minibatches.
        decreasing_power: power of step sizes that meet the book's (3.19), above 1/2, at most 1.
        constant_step: size of constant steps.
        too_fast_power: power of step sizes with a finite sum, above 1.
        seed: seed of starts and minibatches.
    """

    few_means: tuple[float, ...]
    few_points: int
    many_means: tuple[float, ...]
    many_points: int
    data_seed: int
    prior_variance: float
    starts: int
    iterations: int
    tolerance: float
    held_out: int
    batch: int
    passes: int
    repetitions: int
    decreasing_power: float
    constant_step: float
    too_fast_power: float
    seed: int
    kind: ClassVar[str] = names.KIND
    unit_noun: ClassVar[str] = "part"
    step_noun: ClassVar[str] = "parts"

    def check(self) -> None:
        """Raise `UserError` for settings that are invalid or would take hours."""
        check_means("experiment.few_means", self.few_means)
        check_means("experiment.many_means", self.many_means)
        max_points = int(np.log(MAX_ASSIGNMENTS) / np.log(len(self.few_means)) + 1e-9)
        check_int("experiment.few_points", self.few_points, minimum=2)
        if self.few_points > max_points:
            raise UserError(
                f"experiment.few_points must be at most {max_points} for {len(self.few_means)} "
                f"components, because all assignments are enumerated, not {self.few_points}.",
                setting="experiment.few_points",
                code="too_large",
            )
        check_int("seed", self.seed, minimum=0)
        check_int("experiment.data_seed", self.data_seed, minimum=0)
        check_int("experiment.many_points", self.many_points, minimum=2)
        for name in ("starts", "iterations", "held_out", "batch", "passes"):
            check_int(f"experiment.{name}", getattr(self, name))
        check_int("experiment.repetitions", self.repetitions, minimum=2)
        check_between("experiment.prior_variance", self.prior_variance, 0, 1e9)
        check_between("experiment.tolerance", self.tolerance, 0, 1)
        if self.decreasing_power != 1:
            check_between("experiment.decreasing_power", self.decreasing_power, 0.5, 1)
        check_between("experiment.constant_step", self.constant_step, 0, 1)
        check_between("experiment.too_fast_power", self.too_fast_power, 1, 10)
        if self.batch > self.many_points:
            raise UserError(
                f"experiment.batch must be at most experiment.many_points={self.many_points}, "
                f"not {self.batch}.",
                setting="experiment.batch",
                code="too_large",
            )

    @property
    def title(self) -> str:
        return "mixture of Gaussians"

    def path_parts(self) -> tuple[str, ...]:
        return (f"seed{self.seed}",)

    def metadata(self) -> dict[str, Any]:
        return {
            "dataset": "mixture",
            "method": "cavi",
            "points": self.many_points,
            "starts": self.starts,
            "seed": self.seed,
        }

    def units(self) -> tuple[str, ...]:
        return (names.FEW, names.MANY, names.FITTED, names.STOCHASTIC_UNIT)

    def run(self, unit: str, store: UnitStore) -> None:
        """Run one part and save its tables and answers."""
        results = self._part(unit)
        rows = {ANSWERS: [answer.row() for answer in results.answers], **results.tables}
        store.save(unit, rows, {})

    def _part(self, unit: str) -> PartResults:
        few = self._problem(SyntheticData(self.few_means, self.few_points, self.data_seed))
        many = self._problem(SyntheticData(self.many_means, self.many_points, self.data_seed))
        if unit == names.FEW:
            return parts.few_points(few)
        if unit == names.MANY:
            return parts.many_points(many)
        if unit == names.FITTED:
            return parts.fitted_prior_variance(few)
        budget = Budget(self.batch, self.passes, self.repetitions)
        return stochastic_vi(many, self._schedules(), budget)

    def _schedules(self) -> tuple[Schedule, ...]:
        return (
            Schedule(names.DECREASING, self.decreasing_power),
            Schedule(names.CONSTANT, 0.0, self.constant_step),
            Schedule(names.TOO_FAST, self.too_fast_power),
        )

    def _problem(self, data: SyntheticData) -> Problem:
        limits = self.iterations, self.tolerance
        return Problem(data, self.held_out, self.prior_variance, self.starts, *limits, self.seed)
