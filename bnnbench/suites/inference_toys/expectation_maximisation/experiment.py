"""Expectation maximisation for two Gaussians on a line.

Alvarez, "Approximate inference for neural networks", Universidad Tecnologica de Pereira: the
mixture, its bound by Jensen's inequality, the E-step that makes it touch and the M-step that climbs
it. The lecture has one value of data, `y = 4.3`; here the upper of two made clusters is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bnnbench.checks import check_between, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.expectation_maximisation import tables
from bnnbench.suites.inference_toys.expectation_maximisation.data import MadeData, petal_lengths
from bnnbench.suites.inference_toys.expectation_maximisation.parts import (
    Limits,
    Part,
    collapse,
    random_starts,
)
from bnnbench.types import UserError


@dataclass(frozen=True, kw_only=True)
class ExpectationMaximisation(Experiment):
    """EM from random starts, on made data and on petal lengths, and from a start that collapses.

    Its parts are its units: `made`, `petals`, and `collapse`, on the made data.

    Attributes:
        weight: of the first of the two components that make the data.
        loc: their means.
        scale: their standard deviations.
        points: how many are made.
        data_seed: of their draw.
        starts: random ones, on each set of data.
        iterations: of EM at the most.
        tolerance: rise of the log-likelihood, relative to its size, at which it has converged.
        least_variance: of a component, relative to the data's, below which it has collapsed.
        seed: of the starts.
    """

    weight: float
    loc: tuple[float, ...]
    scale: tuple[float, ...]
    points: int
    data_seed: int
    starts: int
    iterations: int
    tolerance: float
    least_variance: float
    seed: int
    kind: ClassVar[str] = tables.KIND
    unit_noun: ClassVar[str] = "part"
    step_noun: ClassVar[str] = "parts"

    def check(self) -> None:
        """Raises `UserError` for settings that cannot be run."""
        check_int("seed", self.seed, least=0)
        check_int("experiment.data_seed", self.data_seed, least=0)
        check_int("experiment.points", self.points, least=5)
        check_int("experiment.starts", self.starts)
        check_int("experiment.iterations", self.iterations)
        check_between("experiment.weight", self.weight, 0, 1)
        check_between("experiment.tolerance", self.tolerance, 0, 1)
        check_between("experiment.least_variance", self.least_variance, 0, 1)
        for name, pair, low in (("loc", self.loc, -1e4), ("scale", self.scale, 0)):
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise UserError(
                    f"experiment.{name} must be a list of two numbers, one for each component, "
                    f"not {pair!r}."
                )
            for value in pair:
                check_between(f"experiment.{name}", value, low, 1e4)

    @property
    def title(self) -> str:
        return "expectation maximisation"

    def place(self) -> tuple[str, ...]:
        return (f"seed{self.seed}",)

    def names(self) -> dict[str, Any]:
        drawn = {"points": self.points, "starts": self.starts, "seed": self.seed}
        return {"dataset": "two_gaussians", "method": "em", **drawn}

    def units(self) -> tuple[str, ...]:
        return (tables.MADE, tables.PETALS, tables.COLLAPSE)

    def run(self, unit: str, store: UnitStore) -> None:
        """Runs one part and saves its tables and answers."""
        found = self._part(unit)
        rows = {ANSWERS: [answer.row() for answer in found.answers], **found.tables}
        store.save(unit, rows, {})

    def _part(self, unit: str) -> Part:
        limits = Limits(self.iterations, self.tolerance, self.least_variance)
        if unit == tables.PETALS:
            return random_starts(unit, petal_lengths(), self.starts, self.seed, limits)
        (low, high), (narrow, wide) = self.loc, self.scale
        made = MadeData(self.weight, (low, high), (narrow, wide), self.points, self.data_seed)
        if unit == tables.MADE:
            return random_starts(unit, made.draw(), self.starts, self.seed, limits)
        return collapse(made.draw(), limits)
