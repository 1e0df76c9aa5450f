"""A Bayesian mixture of Gaussians by coordinate ascent, stochastic VI and variational EM.

Density-ratio thesis, section 3.6; book, sections 3.2.1.4 and 3.2.1.5. Neither reports a number, so
the references are the exact posterior of ten points, by a sum over all assignments, and the true
means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.table_experiment import TableExperiment, Tables
from bnnbench.suites.inference_toys.gaussian_mixture import tables
from bnnbench.suites.inference_toys.gaussian_mixture.enumeration import MAX_ASSIGNMENTS
from bnnbench.suites.inference_toys.gaussian_mixture.model import draw_points
from bnnbench.suites.inference_toys.gaussian_mixture.tables import Problem
from bnnbench.suites.inference_toys.gaussian_mixture.variational import step_sizes
from bnnbench.types import UserError

Means = Annotated[tuple[float, ...], ListOf(Between(-1e4, 1e4), minimum=2)]


@dataclass(frozen=True, kw_only=True)
class GaussianMixture(TableExperiment):
    """Compares variational approximations of a mixture with exact values where they are feasible.

    See `configs/experiment` for the settings; `seed` is that of the starts and minibatches.
    """

    few_means: Means
    few_points: Annotated[int, Whole(2)]
    many_means: Means
    many_points: Annotated[int, Whole(2)]
    data_seed: Annotated[int, Whole(0)]
    prior_variance: Annotated[float, Between(0, 1e9)]
    starts: Annotated[int, Whole()]
    iterations: Annotated[int, Whole()]
    tolerance: Annotated[float, Between(0, 1)]
    held_out: Annotated[int, Whole()]
    batch: Annotated[int, Whole()]
    passes: Annotated[int, Whole()]
    repetitions: Annotated[int, Whole(2)]
    decreasing_power: Annotated[float, Between(0.5, 1, high_included=True)]
    constant_step: Annotated[float, Between(0, 1)]
    too_fast_power: Annotated[float, Between(1, 10)]
    seed: Annotated[int, Whole(0)]
    kind: ClassVar[str] = tables.KIND
    name: ClassVar[str] = "mixture of Gaussians"
    columns: ClassVar[tuple[str, ...]] = ("many_points", "starts", "seed")

    def check(self) -> None:
        """Raise `UserError` for settings that are invalid or would take hours."""
        super().check()
        components = len(self.few_means)
        max_points = int(np.log(MAX_ASSIGNMENTS) / np.log(components) + 1e-9)
        for name, maximum, reason in (
            ("few_points", max_points, f"to enumerate all assignments to {components} components"),
            ("batch", self.many_points, "the number of points"),
        ):
            if (value := getattr(self, name)) > maximum:
                raise UserError(
                    f"experiment.{name} must be at most {maximum}, {reason}, not {value}.",
                    setting=f"experiment.{name}",
                    code="too_large",
                )

    def cases(self) -> dict[str, str]:
        return {part: part for part in ("few", "many", "fitted", "stochastic")}

    def tables(self, case: str) -> Tables:
        if case in ("few", "fitted"):
            few = self._problem(self.few_means, self.few_points)
            return tables.few_tables(few) if case == "few" else tables.fitted_tables(few)
        many = self._problem(self.many_means, self.many_points)
        if case == "many":
            return tables.many_tables(many)
        steps = self.passes * self.many_points // self.batch
        schedules = {
            tables.DECREASING: step_sizes(steps, self.decreasing_power),
            tables.CONSTANT: step_sizes(steps, 0.0, self.constant_step),
            tables.TOO_FAST: step_sizes(steps, self.too_fast_power),
        }
        sizes = self.batch, self.repetitions
        return tables.stochastic_tables(many, schedules, *sizes, self.seed)

    def _problem(self, means: tuple[float, ...], count: int) -> Problem:
        """Draw points, held-out points and starts; a start does not depend on their number."""
        points = draw_points(means, count, np.random.default_rng(self.data_seed))
        new = draw_points(means, self.held_out, np.random.default_rng([self.data_seed, 1]))
        randoms = [np.random.default_rng([self.seed, start]) for start in range(self.starts)]
        scale = np.sqrt(self.prior_variance)
        starts = np.array([random.normal(scale=scale, size=len(means)) for random in randoms])
        limits = self.iterations, self.tolerance
        return Problem(means, points, new, starts, self.prior_variance, *limits)
