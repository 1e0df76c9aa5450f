"""A Bayesian mixture of Gaussians by coordinate ascent, stochastic VI and variational EM.

Beside them stands the exact posterior of ten points, by a sum over all assignments. Density-ratio
thesis, section 3.6; book, sections 3.2.1.4 and 3.2.1.5. Neither reports a number, so what is known
comes from the enumeration and from the means that made the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bnnbench.checks import check_between, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.gaussian_mixture import parts, tables
from bnnbench.suites.inference_toys.gaussian_mixture.enumeration import MOST
from bnnbench.suites.inference_toys.gaussian_mixture.model import MadeData, check_means
from bnnbench.suites.inference_toys.gaussian_mixture.scene import Part, Scene
from bnnbench.suites.inference_toys.gaussian_mixture.stochastic import Schedule
from bnnbench.suites.inference_toys.gaussian_mixture.stochastic_part import Budget, stochastic
from bnnbench.types import UserError


@dataclass(frozen=True, kw_only=True)
class GaussianMixture(Experiment):
    """Coordinate ascent from several starts, beside exact answers where they can be had.

    Its parts are its units. `few`: points whose exact posterior is a sum over all assignments.
    `many`: so many that starts end in different optima. `fitted`: variational EM for the prior
    variance on the few points, beside the exact evidence. `stochastic`: stochastic VI on the many
    points, by three schedules of steps.

    Attributes:
        few_loc: the means that make the data whose assignments are enumerated.
        few_points: how many.
        many_loc: the means that make data of the size that the source has in mind.
        many_points: how many.
        data_seed: of both.
        prior_variance: of the means.
        starts: of coordinate ascent on each, their means drawn from the prior.
        iterations: of coordinate ascent at the most.
        tolerance: relative change of the ELBO at which it has converged.
        held_out: points that predictions are scored on.
        batch: points of a minibatch of stochastic VI.
        passes: of stochastic VI through the many points.
        repetitions: of stochastic VI, each with minibatches of its own.
        decreasing: power of the steps that meet the book's (3.19), above 1/2 and at most 1.
        constant: size of the steps that do not decrease.
        too_fast: power of the steps whose sum is finite, above 1.
        seed: of starts and minibatches.
    """

    few_loc: tuple[float, ...]
    few_points: int
    many_loc: tuple[float, ...]
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
    decreasing: float
    constant: float
    too_fast: float
    seed: int
    kind: ClassVar[str] = tables.KIND
    unit_noun: ClassVar[str] = "part"
    step_noun: ClassVar[str] = "parts"

    def check(self) -> None:
        """Raises `UserError` for settings that cannot be run, or would take hours."""
        check_means("experiment.few_loc", self.few_loc)
        check_means("experiment.many_loc", self.many_loc)
        most = int(np.log(MOST) / np.log(len(self.few_loc)) + 1e-9)
        check_int("experiment.few_points", self.few_points, least=2)
        if self.few_points > most:
            raise UserError(
                f"experiment.few_points must be at most {most} for {len(self.few_loc)} components, "
                f"whose assignments are enumerated, not {self.few_points}."
            )
        check_int("seed", self.seed, least=0)
        check_int("experiment.data_seed", self.data_seed, least=0)
        check_int("experiment.many_points", self.many_points, least=2)
        for name in ("starts", "iterations", "held_out", "batch", "passes"):
            check_int(f"experiment.{name}", getattr(self, name))
        check_int("experiment.repetitions", self.repetitions, least=2)
        check_between("experiment.prior_variance", self.prior_variance, 0, 1e9)
        check_between("experiment.tolerance", self.tolerance, 0, 1)
        if self.decreasing != 1:
            check_between("experiment.decreasing", self.decreasing, 0.5, 1)
        check_between("experiment.constant", self.constant, 0, 1)
        check_between("experiment.too_fast", self.too_fast, 1, 10)
        if self.batch > self.many_points:
            raise UserError(
                f"experiment.batch must be at most experiment.many_points, {self.many_points}, "
                f"not {self.batch}."
            )

    @property
    def title(self) -> str:
        return "mixture of Gaussians"

    def place(self) -> tuple[str, ...]:
        return (f"seed{self.seed}",)

    def names(self) -> dict[str, Any]:
        drawn = {"points": self.many_points, "starts": self.starts, "seed": self.seed}
        return {"dataset": "mixture", "method": "cavi", **drawn}

    def units(self) -> tuple[str, ...]:
        return (tables.FEW, tables.MANY, tables.FITTED, tables.SAMPLED)

    def run(self, unit: str, store: UnitStore) -> None:
        """Runs one part and saves its tables and answers."""
        found = self._part(unit)
        rows = {ANSWERS: [answer.row() for answer in found.answers], **found.tables}
        store.save(unit, rows, {})

    def _part(self, unit: str) -> Part:
        few = self._scene(MadeData(self.few_loc, self.few_points, self.data_seed))
        many = self._scene(MadeData(self.many_loc, self.many_points, self.data_seed))
        if unit == tables.FEW:
            return parts.few_points(few)
        if unit == tables.MANY:
            return parts.many_points(many)
        if unit == tables.FITTED:
            return parts.fitted_prior_variance(few)
        budget = Budget(self.batch, self.passes, self.repetitions)
        return stochastic(many, self._schedules(), budget)

    def _schedules(self) -> tuple[Schedule, ...]:
        return (
            Schedule(tables.DECREASING, self.decreasing),
            Schedule(tables.CONSTANT, 0.0, self.constant),
            Schedule(tables.TOO_FAST, self.too_fast),
        )

    def _scene(self, data: MadeData) -> Scene:
        limits = self.iterations, self.tolerance
        return Scene(data, self.held_out, self.prior_variance, self.starts, *limits, self.seed)
