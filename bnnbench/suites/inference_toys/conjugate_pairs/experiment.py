"""Two conjugate pairs as an experiment with one unit per number of observations."""

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
from bnnbench.suites.inference_toys.conjugate_pairs.model import (
    MeanPair,
    Pair,
    PrecisionPair,
    simulate,
)
from bnnbench.suites.inference_toys.conjugate_pairs.tables import (
    answers,
    decision_rows,
    density_rows,
    risk_rows,
    transform_rows,
)
from bnnbench.types import UserError

MAX_OBSERVATIONS = 10_000
"""Limits the memory of the likelihood on a grid."""

MAX_MAGNITUDE = 1e6
"""Maximum of means and standard deviations; its inverse is the minimum standard deviation."""


@dataclass(frozen=True, kw_only=True)
class ConjugatePairs(Experiment):
    """Estimates a mean and a precision from increasing numbers of observations.

    Attributes:
        mean: mean of the observations; known when the precision is estimated.
        scale: standard deviation of the observations; known when the mean is estimated.
        prior_mean: prior mean of the mean.
        prior_scale: prior standard deviation of the mean.
        prior_shape: shape of the Gamma prior of the precision, alpha_0.
        prior_rate: rate of the Gamma prior of the precision, beta_0.
        data_seed: seed of the observations.
        reading: use (2.38) and (2.39) `corrected` or as `printed`.
        mean_range: range of the mean in the figure.
        precision_range: range of the precision in the figure.
        sizes: numbers of observations, one unit each; smaller data sets are prefixes.
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
        """Raise `UserError` if a setting is invalid."""
        key = "experiment"
        for name in ("mean", "prior_mean"):
            check_finite(f"{key}.{name}", getattr(self, name))
            check_between(f"{key}.{name}", getattr(self, name), -MAX_MAGNITUDE, MAX_MAGNITUDE)
        for name in ("scale", "prior_scale"):
            check_between(f"{key}.{name}", getattr(self, name), 1 / MAX_MAGNITUDE, MAX_MAGNITUDE)
        for name in ("prior_shape", "prior_rate"):
            check_between(f"{key}.{name}", getattr(self, name), 0, MAX_MAGNITUDE)
        check_int(f"{key}.data_seed", self.data_seed, minimum=0)
        check_choice("reading", self.reading, names.READINGS)
        self._check_range("mean_range", -MAX_MAGNITUDE)
        self._check_range("precision_range", 0.0)
        if not isinstance(self.sizes, tuple) or not self.sizes:
            raise UserError(
                f"{key}.sizes must be a non-empty list of numbers, not {self.sizes!r}.",
                setting=f"{key}.sizes",
                code="not_a_list",
            )
        for size in self.sizes:
            check_int(f"{key}.sizes", size)
        if max(self.sizes) > MAX_OBSERVATIONS or len({*self.sizes}) < len(self.sizes):
            raise UserError(
                f"{key}.sizes must be distinct numbers of at most {MAX_OBSERVATIONS}, "
                f"not {list(self.sizes)}.",
                setting=f"{key}.sizes",
                code="repeated_or_too_large",
            )

    def _check_range(self, name: str, lower_bound: float) -> None:
        limits = getattr(self, name)
        if not isinstance(limits, tuple) or len(limits) != 2:
            raise UserError(
                f"experiment.{name} must be a list of two numbers, not {limits!r}.",
                setting=f"experiment.{name}",
                code="not_a_list",
            )
        check_between(f"experiment.{name}", limits[0], lower_bound, MAX_MAGNITUDE)
        check_between(f"experiment.{name}", limits[1], limits[0], MAX_MAGNITUDE)

    @property
    def title(self) -> str:
        return "conjugate pairs"

    def units(self) -> tuple[str, ...]:
        return tuple(f"observations-{size}" for size in self.sizes)

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return one group, because starting a process takes longer than all units together."""
        return (tuple(units),)

    def path_parts(self) -> tuple[str, ...]:
        return (f"{self.reading}-data{self.data_seed}",)

    def metadata(self) -> dict[str, Any]:
        return {"reading": self.reading, "data_seed": self.data_seed}

    def run(self, unit: str, store: UnitStore) -> None:
        """Compute the estimates for one number of observations and save the tables."""
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
