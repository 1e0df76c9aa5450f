"""Expectation maximisation for two univariate Gaussians.

Alvarez, "Approximate inference for neural networks", Universidad Tecnologica de Pereira: the
mixture, its bound by Jensen's inequality, the E-step that makes the bound tight and the M-step that
maximises it. The lecture's single observation, `y = 4.3`, is the upper cluster centre here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bnnbench.checks import check_between, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.expectation_maximisation import names
from bnnbench.suites.inference_toys.expectation_maximisation.data import (
    SyntheticData,
    petal_lengths,
)
from bnnbench.suites.inference_toys.expectation_maximisation.parts import (
    PartResults,
    StoppingRule,
    collapse,
    random_starts,
)
from bnnbench.types import UserError


@dataclass(frozen=True, kw_only=True)
class ExpectationMaximisation(Experiment):
    """Runs EM from random starts on two data sets, and from a start that collapses.

    Its units are its parts: `synthetic`, `petal_lengths` and, on synthetic data,
    `collapsing_start`.

    Attributes:
        weight: weight of the first component of the synthetic data.
        loc: means of the components of the synthetic data.
        scale: standard deviations of the components of the synthetic data.
        points: number of synthetic points.
        data_seed: seed of the synthetic data.
        starts: number of random starts on each data set.
        iterations: maximum number of EM iterations.
        tolerance: relative change of the log-likelihood below which EM has converged.
        min_variance: variance, relative to the data's, below which a component has collapsed.
        seed: seed of the starts.
    """

    weight: float
    loc: tuple[float, ...]
    scale: tuple[float, ...]
    points: int
    data_seed: int
    starts: int
    iterations: int
    tolerance: float
    min_variance: float
    seed: int
    kind: ClassVar[str] = names.KIND
    unit_noun: ClassVar[str] = "part"
    step_noun: ClassVar[str] = "parts"

    def check(self) -> None:
        """Raise `UserError` if a setting is invalid."""
        check_int("seed", self.seed, minimum=0)
        check_int("experiment.data_seed", self.data_seed, minimum=0)
        check_int("experiment.points", self.points, minimum=5)
        check_int("experiment.starts", self.starts)
        check_int("experiment.iterations", self.iterations)
        check_between("experiment.weight", self.weight, 0, 1)
        check_between("experiment.tolerance", self.tolerance, 0, 1)
        check_between("experiment.min_variance", self.min_variance, 0, 1)
        for name, pair, low in (("loc", self.loc, -1e4), ("scale", self.scale, 0)):
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise UserError(
                    f"experiment.{name} must be a list of two numbers, one for each component, "
                    f"not {pair!r}.",
                    setting=f"experiment.{name}",
                    code="not_a_list",
                )
            for value in pair:
                check_between(f"experiment.{name}", value, low, 1e4)

    @property
    def title(self) -> str:
        return "expectation maximisation"

    def path_parts(self) -> tuple[str, ...]:
        return (f"seed{self.seed}",)

    def metadata(self) -> dict[str, Any]:
        settings = {"points": self.points, "starts": self.starts, "seed": self.seed}
        return {"dataset": "two_gaussians", "method": "em", **settings}

    def units(self) -> tuple[str, ...]:
        return (names.SYNTHETIC, names.PETAL_LENGTHS, names.COLLAPSING_START)

    def run(self, unit: str, store: UnitStore) -> None:
        """Run one part and save its tables."""
        results = self._run_part(unit)
        tables = {ANSWERS: [answer.row() for answer in results.answers], **results.tables}
        store.save(unit, tables, {})

    def _run_part(self, unit: str) -> PartResults:
        stopping_rule = StoppingRule(self.iterations, self.tolerance, self.min_variance)
        if unit == names.PETAL_LENGTHS:
            return random_starts(unit, petal_lengths(), self.starts, self.seed, stopping_rule)
        (low, high), (narrow, wide) = self.loc, self.scale
        synthetic = SyntheticData(
            self.weight, (low, high), (narrow, wide), self.points, self.data_seed
        )
        if unit == names.SYNTHETIC:
            return random_starts(unit, synthetic.draw(), self.starts, self.seed, stopping_rule)
        return collapse(synthetic.draw(), stopping_rule)
