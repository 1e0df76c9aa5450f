"""Two conjugate pairs as an experiment: a unit per number of observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bnnbench.checks import check_between, check_choice, check_finite, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.identity import no_identity
from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.conjugate_pairs.findings import (
    answers,
    decision_rows,
    density_rows,
    risk_rows,
    transform_rows,
)
from bnnbench.suites.inference_toys.conjugate_pairs.model import (
    MeanPair,
    Pair,
    PrecisionPair,
    simulate,
)
from bnnbench.types import UserError

MOST = 10_000
"""Observations, so that a likelihood on a grid fits into memory."""

LARGEST = 1e6
"""Of any mean or deviation, and one over it the smallest deviation."""


@dataclass(frozen=True, kw_only=True)
class ConjugatePairs(Experiment):
    """Estimates a mean, and a precision, by likelihood and posterior as observations come in.

    Attributes:
        mean: of the observations; known where the precision is estimated.
        scale: their standard deviation; known where the mean is estimated.
        prior_mean: of the mean.
        prior_scale: its standard deviation.
        prior_shape: of the Gamma prior of the precision, alpha_0.
        prior_rate: of it, beta_0.
        data_seed: of the observations.
        reading: of (2.38) and (2.39), `corrected` or as `printed`.
        mean_range: over which the figure shows the mean.
        precision_range: over which it shows the precision.
        sizes: numbers of observations, a unit each; the first ones of the same sequence.
    """

    mean: float
    scale: float
    prior_mean: float
    prior_scale: float
    prior_shape: float
    prior_rate: float
    data_seed: int
    reading: str
    mean_range: tuple[float, float]
    precision_range: tuple[float, float]
    sizes: tuple[int, ...] = no_identity()
    kind: ClassVar[str] = names.KIND
    unit_noun: ClassVar[str] = "data set"
    step_noun: ClassVar[str] = "data sets"

    def check(self) -> None:
        """Raises `UserError` if a setting makes no prior, no data or no figure."""
        key = "experiment"
        for name in ("mean", "prior_mean"):
            check_finite(f"{key}.{name}", getattr(self, name))
            check_between(f"{key}.{name}", getattr(self, name), -LARGEST, LARGEST)
        for name in ("scale", "prior_scale"):
            check_between(f"{key}.{name}", getattr(self, name), 1 / LARGEST, LARGEST)
        for name in ("prior_shape", "prior_rate"):
            check_between(f"{key}.{name}", getattr(self, name), 0, LARGEST)
        check_int(f"{key}.data_seed", self.data_seed, least=0)
        check_choice(f"{key}.reading", self.reading, names.READINGS)
        self._check_range("mean_range", -LARGEST)
        self._check_range("precision_range", 0.0)
        if not isinstance(self.sizes, tuple) or not self.sizes:
            raise UserError(f"{key}.sizes must be a list of numbers, not {self.sizes!r}.")
        for size in self.sizes:
            check_int(f"{key}.sizes", size)
        if max(self.sizes) > MOST or len({*self.sizes}) < len(self.sizes):
            raise UserError(
                f"{key}.sizes must be different numbers of at most {MOST}, not {list(self.sizes)}."
            )

    def _check_range(self, name: str, least: float) -> None:
        ends = getattr(self, name)
        if not isinstance(ends, tuple) or len(ends) != 2:
            raise UserError(f"experiment.{name} must be a list of two numbers, not {ends!r}.")
        check_between(f"experiment.{name}", ends[0], least, LARGEST)
        check_between(f"experiment.{name}", ends[1], ends[0], LARGEST)

    @property
    def title(self) -> str:
        return "conjugate pairs"

    def units(self) -> tuple[str, ...]:
        return tuple(f"observations-{size}" for size in self.sizes)

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """All in one: another process takes longer to start than they take."""
        return (tuple(units),)

    def place(self) -> tuple[str, ...]:
        return (f"{self.reading}-data{self.data_seed}",)

    def names(self) -> dict[str, Any]:
        return {"reading": self.reading, "data_seed": self.data_seed}

    def run(self, unit: str, store: UnitStore) -> None:
        """Saves answers, densities, decisions, risks and transforms of some observations."""
        size = int(unit.removeprefix("observations-"))
        observations = simulate(size, self.mean, self.scale, self.data_seed)
        printed = self.reading == "printed"
        normal = MeanPair(observations, self.scale, self.prior_mean, self.prior_scale, printed)
        precision = PrecisionPair(observations, self.mean, self.prior_shape, self.prior_rate)
        pairs: dict[str, Pair] = {names.MEAN_PAIR: normal, names.PRECISION_PAIR: precision}
        ranges = {names.MEAN_PAIR: self.mean_range, names.PRECISION_PAIR: self.precision_range}
        tables = {
            ANSWERS: [answer.row() for answer in answers(pairs, size)],
            names.DENSITIES: density_rows(pairs, ranges, size),
            names.DECISIONS: decision_rows(pairs, size),
            names.RISKS: risk_rows(pairs, size),
            names.TRANSFORMS: transform_rows(precision, size),
        }
        store.save(unit, tables, {})
