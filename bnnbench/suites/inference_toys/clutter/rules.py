"""The rules by which the sources' claims on the clutter problem are checked on a run's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.results.claims import Finding
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.reading import read_table

NOTABLE = 0.1
"""Share of the posterior's deviation from which a dependence on the order is one."""

SAME = 1e-6
"""Within which two fixed points are one."""

SLACK = 1e-9
"""Nats that rounding may take from a bound."""


@dataclass(frozen=True)
class ClutterRun:
    """The tables of a run, as they were written."""

    answers: pd.DataFrame
    progress: pd.DataFrame
    orders: pd.DataFrame
    powers: pd.DataFrame

    @property
    def sizes(self) -> list[int]:
        """The numbers of observations, rising."""
        return sorted(int(size) for size in self.orders["observations"].unique())

    def answer(self, quantity: str, approximation: str, size: int) -> pd.Series:
        """One row of the answers."""
        chosen = (
            (self.answers["quantity"] == quantity)
            & (self.answers["approximation"] == approximation)
            & (self.answers["setting"] == names.setting(size))
        )
        return self.answers[chosen].iloc[0]

    def path(self, algorithm: str, size: int) -> pd.DataFrame:
        """The steps of one algorithm."""
        own = self.progress
        return own[(own["algorithm"] == algorithm) & (own["observations"] == size)]

    def in_orders(self, size: int) -> pd.DataFrame:
        """The random orders of one data set."""
        return self.orders[self.orders["observations"] == size]


def read_clutter(folder: RunFolder) -> ClutterRun:
    """The tables of a finished run."""
    others = (names.PROGRESS, names.ORDERS, names.POWERS)
    tables = (read_table(folder, name, names.NUMBERS[name]) for name in others)
    return ClutterRun(read_answers(folder), *tables)


def every(found: Iterator[tuple[bool, str]]) -> Finding:
    """Whether all hold, and all that is said of them."""
    holds, said = zip(*found, strict=True)
    return all(holds), "; ".join(said)


@dataclass(frozen=True)
class DependsOnOrder:
    """Whether what ADF ends with differs from order to order."""

    rule: str = (
        f"over random orders the mean of ADF has a standard deviation of more than {NOTABLE} of "
        "the exact posterior's, for every number of observations"
    )

    def find(self, run: ClutterRun) -> Finding:
        return every(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            spread = run.answer(names.MEAN_SPREAD, names.ADF, size)["value"]
            scale = run.answer(names.SCALE, names.ADF, size)["exact"]
            yield spread > NOTABLE * scale, f"{spread:.2g} against {scale:.2g} at {size}"


@dataclass(frozen=True)
class SameFixedPoint:
    """Whether EP ends at one fixed point whatever the order."""

    rule: str = f"EP ends within {SAME:g} of the same mean in every random order"

    def find(self, run: ClutterRun) -> Finding:
        return every(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            orders = run.in_orders(size)
            usual = run.answer(names.MEAN, names.EP, size)["value"]
            other = orders[(orders["ep_mean"] - usual).abs() > SAME]
            said = f"{len(orders) - len(other)} of {len(orders)} orders at {size}"
            if len(other):
                places = ", ".join(f"{mean:.3g}" for mean in sorted(set(other["ep_mean"].round(6))))
                lost = run.answer(names.EVIDENCE, names.EP, size)["value"]
                lost -= other["ep_log_evidence"].max()
                said += f", the others at {places} with {lost:.3g} nats less evidence"
            yield other.empty, said


@dataclass(frozen=True)
class Variance:
    """Whether an approximation is wider, or narrower, than the exact posterior."""

    approximations: tuple[str, ...]
    wider: bool

    @property
    def rule(self) -> str:
        """What has to hold."""
        than = "exceeds" if self.wider else "is below"
        who = " and ".join(self.approximations)
        return f"the standard deviation of {who} {than} the exact one, for every data set"

    def find(self, run: ClutterRun) -> Finding:
        """Compares the deviations."""
        return every(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            for name in self.approximations:
                row = run.answer(names.SCALE, name, size)
                off = row["value"] / row["exact"] - 1
                yield (off > 0) == self.wider, f"{name} {100 * off:+.2g} % at {size}"


@dataclass(frozen=True)
class InvalidSites:
    """Whether sites need not be distributions where their product is one."""

    rule: str = "some sites of EP have a negative precision, and its posterior deviation is finite"

    def find(self, run: ClutterRun) -> Finding:
        return every(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            count = run.answer(names.NEGATIVE_SITES, names.EP, size)["value"]
            scale = run.answer(names.SCALE, names.EP, size)["value"]
            yield bool(count > 0 and np.isfinite(scale)), f"{count:.0f} of {size} sites"


@dataclass(frozen=True)
class Bound:
    """Whether the bound of variational Bayes rises and stays below the evidence."""

    rule: str = "its bound never falls from step to step and never exceeds the exact log evidence"

    def find(self, run: ClutterRun) -> Finding:
        return every(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            bound = run.path(names.VB, size)["log_evidence"].to_numpy()
            exact = run.answer(names.EVIDENCE, names.VB, size)["exact"]
            holds = bool((np.diff(bound) > -SLACK).all() and (bound < exact + SLACK).all())
            yield holds, f"from {bound[0]:.2f} to {bound[-1]:.2f} of {exact:.2f} at {size}"


@dataclass(frozen=True)
class PowerLimits:
    """Whether power EP leads from EP to the Gaussian nearest in reverse KL."""

    rule: str = (
        "with each lower power up to 1 the deviation of power EP comes nearer to that of the "
        "Gaussian of least reverse KL, and at the lowest it is within 5 % of EP's distance"
    )

    def find(self, run: ClutterRun) -> Finding:
        if not {1.0} < set(run.powers["power"][run.powers["power"] <= 1]):
            return None, "needs power 1 and a lower one"
        return every(self._each(run))

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool, str]]:
        for size in run.sizes:
            own = run.powers[(run.powers["observations"] == size) & (run.powers["power"] <= 1)]
            own = own.sort_values("power", ascending=False)
            limit = run.answer(names.SCALE, names.GAUSSIAN_VI, size)["value"]
            away = (own["scale"] - limit).abs().to_numpy()
            holds = bool((np.diff(away) < 0).all() and away[-1] <= 0.05 * away[0])
            last = own["power"].iloc[-1]
            yield holds, f"{away[0]:.2g} at power 1, {away[-1]:.2g} at {last:g}, for {size}"


@dataclass(frozen=True)
class EnergyRises:
    """Whether a pass of EP may raise its energy."""

    rule: str = "in some random order a pass of EP lowers its log evidence"

    def find(self, run: ClutterRun) -> Finding:
        counts = [
            f"{(run.in_orders(size)['falls'] > 0).sum()} of {len(run.in_orders(size))} at {size}"
            for size in run.sizes
        ]
        return bool((run.orders["falls"] > 0).any()), f"orders: {'; '.join(counts)}"


@dataclass(frozen=True)
class BestForItsWork:
    """Whether EP is nearer the truth than its rivals after as many likelihood evaluations."""

    rule: str = (
        "after every pass of EP from the second on (the first is ADF), its median errors in mean "
        "and log evidence are below those of each rival's last step that cost no more"
    )

    def find(self, run: ClutterRun) -> Finding:
        holds, said = zip(*self._each(run), strict=True)
        verdict = None if None in holds and False not in holds else all(holds)
        return verdict, "; ".join(said)

    def _each(self, run: ClutterRun) -> Iterator[tuple[bool | None, str]]:
        """Of each rival whether EP always won; None where the rival had not begun yet."""
        for size in run.sizes:
            passes = run.path(names.EP, size).iloc[1:].to_dict("records")
            for rival in (names.VB, names.LAPLACE, names.IMPORTANCE):
                steps = run.path(rival, size)
                won = [self._wins(one, steps) for one in passes]
                met = [outcome for outcome in won if outcome is not None]
                said = f"{sum(met)} of {len(met)} against {rival} at {size}"
                yield (all(met) if met else None), said

    def _wins(self, one: dict[Any, Any], steps: pd.DataFrame) -> bool | None:
        """Whether a pass of EP beats the rival's last step that cost no more; None without one."""
        done = steps[steps["work"] <= one["work"]]
        if done.empty:
            return None
        columns = ("mean_error", "evidence_error")
        return all(one[name] < done[name].iloc[-1] for name in columns)
