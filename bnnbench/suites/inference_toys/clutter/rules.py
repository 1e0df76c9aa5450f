"""Rules that check the sources' claims about the clutter problem on a run's results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.results.claims import CheckResult
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.saved_tables import read_table

MIN_RELATIVE_STD = 0.1
"""Standard deviation over orders, relative to the posterior's, that counts as dependence."""

FIXED_POINT_TOLERANCE = 1e-6
"""Distance in `theta` within which two fixed points are the same."""

BOUND_TOLERANCE = 1e-9
"""Rounding error allowed in a bound, nats."""


@dataclass(frozen=True)
class ClutterRun:
    """The saved tables of a run."""

    answers: pd.DataFrame
    progress: pd.DataFrame
    orders: pd.DataFrame
    powers: pd.DataFrame

    @property
    def sizes(self) -> list[int]:
        """The numbers of observations, increasing."""
        return sorted(int(size) for size in self.orders["observations"].unique())

    def answer(self, quantity: str, approximation: str, size: int) -> pd.Series:
        """Return one row of the answers."""
        selected = (
            (self.answers["quantity"] == quantity)
            & (self.answers["approximation"] == approximation)
            & (self.answers["setting"] == names.setting(size))
        )
        return self.answers[selected].iloc[0]

    def steps(self, algorithm: str, size: int) -> pd.DataFrame:
        """Return the steps of one algorithm."""
        table = self.progress
        return table[(table["algorithm"] == algorithm) & (table["observations"] == size)]

    def random_orders(self, size: int) -> pd.DataFrame:
        """Return the random orders of one data set."""
        return self.orders[self.orders["observations"] == size]


def read_run(folder: RunFolder) -> ClutterRun:
    """Read the tables of a finished run."""
    table_names = (names.PROGRESS, names.ORDERS, names.POWERS)
    tables = (read_table(folder, name, names.NUMERIC_COLUMNS[name]) for name in table_names)
    return ClutterRun(read_answers(folder), *tables)


def combine(results: Iterator[tuple[bool, str]]) -> CheckResult:
    """Return whether all results hold, and all evidence."""
    holds, evidence = zip(*results, strict=True)
    return all(holds), "; ".join(evidence)


@dataclass(frozen=True)
class DependsOnOrder:
    """ADF's result depends on the order of the factors."""

    rule: str = (
        "over random orders, the standard deviation of ADF's mean exceeds "
        f"{MIN_RELATIVE_STD} exact posterior standard deviations, for every number of observations"
    )

    def check(self, run: ClutterRun) -> CheckResult:
        return combine(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            std = run.answer(names.MEAN_STD, names.ADF, size)["value"]
            scale = run.answer(names.SCALE, names.ADF, size)["exact"]
            yield std > MIN_RELATIVE_STD * scale, f"{std:.2g} vs {scale:.2g} (N = {size})"


@dataclass(frozen=True)
class SameFixedPoint:
    """EP converges to the same fixed point in every order."""

    rule: str = (
        f"EP converges to the same mean within {FIXED_POINT_TOLERANCE:g} in every random order"
    )

    def check(self, run: ClutterRun) -> CheckResult:
        return combine(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            orders = run.random_orders(size)
            mean = run.answer(names.MEAN, names.EP, size)["value"]
            others = orders[(orders["ep_mean"] - mean).abs() > FIXED_POINT_TOLERANCE]
            evidence = f"{len(orders) - len(others)} of {len(orders)} orders (N = {size})"
            if len(others):
                means = ", ".join(
                    f"{value:.3g}" for value in sorted(set(others["ep_mean"].round(6)))
                )
                loss = run.answer(names.EVIDENCE, names.EP, size)["value"]
                loss -= others["ep_log_evidence"].max()
                evidence += f", the others at {means} with {loss:.3g} nats less log evidence"
            yield others.empty, evidence


@dataclass(frozen=True)
class MisestimatesVariance:
    """An approximation over- or underestimates the posterior variance."""

    approximations: tuple[str, ...]
    overestimates: bool

    @property
    def rule(self) -> str:
        comparison = "exceeds" if self.overestimates else "is below"
        subject = " and ".join(self.approximations)
        return f"the standard deviation of {subject} {comparison} the exact one on every data set"

    def check(self, run: ClutterRun) -> CheckResult:
        return combine(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            for name in self.approximations:
                row = run.answer(names.SCALE, name, size)
                error = row["value"] / row["exact"] - 1
                evidence = f"{name} {100 * error:+.2g} % (N = {size})"
                yield (error > 0) == self.overestimates, evidence


@dataclass(frozen=True)
class ImproperSites:
    """Some sites are improper although their product is a proper distribution."""

    rule: str = (
        "some sites of EP have negative precision, and its posterior standard deviation is finite"
    )

    def check(self, run: ClutterRun) -> CheckResult:
        return combine(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            count = run.answer(names.NEGATIVE_SITES, names.EP, size)["value"]
            scale = run.answer(names.SCALE, names.EP, size)["value"]
            yield bool(count > 0 and np.isfinite(scale)), f"{count:.0f} of {size} sites"


@dataclass(frozen=True)
class IsLowerBound:
    """The bound of variational Bayes never decreases and stays below the log evidence."""

    rule: str = "the bound never decreases in a step and never exceeds the exact log evidence"

    def check(self, run: ClutterRun) -> CheckResult:
        return combine(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            bound = run.steps(names.VB, size)["log_evidence"].to_numpy()
            exact = run.answer(names.EVIDENCE, names.VB, size)["exact"]
            holds = bool(
                (np.diff(bound) > -BOUND_TOLERANCE).all()
                and (bound < exact + BOUND_TOLERANCE).all()
            )
            yield holds, f"{bound[0]:.2f} to {bound[-1]:.2f}, exact {exact:.2f} (N = {size})"


@dataclass(frozen=True)
class PowerEPLimit:
    """Power EP interpolates between EP and the Gaussian of minimum reverse KL."""

    rule: str = (
        "for powers from 1 downwards, the standard deviation of power EP approaches that of the "
        "Gaussian of minimum reverse KL, to within 5 % of EP's distance at the lowest power"
    )

    def check(self, run: ClutterRun) -> CheckResult:
        if not {1.0} < set(run.powers["power"][run.powers["power"] <= 1]):
            return None, "needs power 1 and a lower power"
        return combine(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            rows = run.powers[(run.powers["observations"] == size) & (run.powers["power"] <= 1)]
            rows = rows.sort_values("power", ascending=False)
            limit = run.answer(names.SCALE, names.GAUSSIAN_VI, size)["value"]
            distance = (rows["scale"] - limit).abs().to_numpy()
            holds = bool((np.diff(distance) < 0).all() and distance[-1] <= 0.05 * distance[0])
            last = rows["power"].iloc[-1]
            yield (
                holds,
                f"{distance[0]:.2g} at power 1, {distance[-1]:.2g} at {last:g} (N = {size})",
            )


@dataclass(frozen=True)
class EnergyCanIncrease:
    """A pass of EP can increase its energy, that is, decrease its log evidence."""

    rule: str = "in some random order, a pass of EP decreases its log evidence"

    def check(self, run: ClutterRun) -> CheckResult:
        counts = [
            f"{(orders['n_decreases'] > 0).sum()} of {len(orders)} orders (N = {size})"
            for size in run.sizes
            for orders in [run.random_orders(size)]
        ]
        return bool((run.orders["n_decreases"] > 0).any()), "; ".join(counts)


@dataclass(frozen=True)
class MostAccuratePerWork:
    """EP is more accurate than its competitors for the same number of likelihood evaluations."""

    rule: str = (
        "after every pass of EP except the first (ADF), its median errors in mean and log evidence "
        "are below those of each competitor at the same or lower cost"
    )

    def check(self, run: ClutterRun) -> CheckResult:
        holds, evidence = zip(*self._each(run), strict=True)
        verdict = None if None in holds and False not in holds else all(holds)
        return verdict, "; ".join(evidence)

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool | None, str]]:
        """Yield whether EP wins against each competitor; None without a comparable step."""
        for size in run.sizes:
            passes = run.steps(names.EP, size).iloc[1:].to_dict("records")
            for competitor in (names.VB, names.LAPLACE, names.IMPORTANCE):
                steps = run.steps(competitor, size)
                wins = [self._wins(ep_pass, steps) for ep_pass in passes]
                comparable = [win for win in wins if win is not None]
                evidence = f"{sum(comparable)} of {len(comparable)} vs {competitor} (N = {size})"
                yield (all(comparable) if comparable else None), evidence

    def _wins(self, ep_pass: dict[Any, Any], steps: pd.DataFrame) -> bool | None:
        """Return whether EP beats the last step that cost no more; None without such a step."""
        affordable = steps[steps["work"] <= ep_pass["work"]]
        if affordable.empty:
            return None
        columns = ("mean_error", "evidence_error")
        return all(ep_pass[name] < affordable[name].iloc[-1] for name in columns)
