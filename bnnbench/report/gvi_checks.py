"""The rules by which claims of the GVI thesis are checked on our numbers.

Scores are compared by their medians over splits, as in its box plots, since a few lost splits rule
the means; where two contenders are named, correlated t-tests speak too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.report.claims import VERDICTS, Finding, ahead, counted, duel
from bnnbench.report.gvi import DIVERGENCES, NAMES, ThesisRuns
from bnnbench.report.gvi_toy import NAMES as PRINTED_NAMES
from bnnbench.report.gvi_toy import printed
from bnnbench.report.orders import SCORES
from bnnbench.report.sigma import WELL_CALIBRATED

MOST = 0.75  # the share of comparisons that counts as "most"
BOTH = tuple(SCORES)
NLL = ("log_likelihood",)


def spoken(names: Sequence[str]) -> str:
    """The thesis's names, in one line."""
    return ", ".join(NAMES[name] for name in names)


def scores_of(metrics: Sequence[str]) -> str:
    """`RMSE and NLL`."""
    return " and ".join({"rmse": "RMSE", "log_likelihood": "NLL"}[m] for m in metrics)


def missing(names: Sequence[str], depth: int) -> Finding:
    """The finding where runs are missing."""
    return None, f"no data set has all of {spoken(names)} at depth {depth}"


def complete(suite: ThesisRuns, names: Sequence[str], depth: int) -> pd.DataFrame:
    """Medians of the data sets that have all names at this depth: rows data sets x scores."""
    if suite.medians.empty or depth not in suite.medians.index.unique("depth"):
        return pd.DataFrame()
    wide = suite.medians.xs(depth, level="depth").stack().unstack("name")
    if not set(names) <= set(wide):
        return pd.DataFrame()
    return wide[list(names)].dropna()


def of(table: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """The rows of `complete` of some scores."""
    return table[table.index.get_level_values(1).isin(metrics)] if len(table) else table


@dataclass(frozen=True)
class Above:
    """Whether scores are better for orders above 1 than below, in every family."""

    @property
    def rule(self) -> str:
        return (
            "in every family the mean score over orders above 1 is better than that below 1 in "
            "three quarters of data sets x RMSE and NLL"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        counts = {}
        for family, group in suite.orders.groupby("family") if len(suite.orders) else ():
            better = []
            for _, own in group.groupby("dataset"):
                for metric, (_, sign) in SCORES.items():
                    score = sign * own.set_index("order")[f"{metric}_mean"]
                    low, high = score[score.index < 1].mean(), score[score.index > 1].mean()
                    if pd.notna(low) and pd.notna(high):
                        better.append(bool(high < low))
            if better:
                counts[str(family)] = better
        if not counts:
            return None, "no family has orders on both sides of 1"
        evidence = ", ".join(f"{NAMES.get(f, f)} {sum(b)} of {len(b)}" for f, b in counts.items())
        return all(sum(b) >= MOST * len(b) for b in counts.values()), f"better above 1: {evidence}"


@dataclass(frozen=True)
class BestOrder:
    """Whether the best order lies between two numbers."""

    low: float
    high: float

    @property
    def rule(self) -> str:
        return (
            f"the order of the best mean lies from {self.low:g} to {self.high:g} in three quarters "
            "of families x data sets x RMSE and NLL"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        best = []
        for _, own in suite.orders.groupby(["family", "dataset"]) if len(suite.orders) else ():
            for metric, (_, sign) in SCORES.items():
                score = (sign * own.set_index("order")[f"{metric}_mean"]).dropna()
                if len(score):
                    best.append(float(score.idxmin()))
        if not best:
            return None, "no family of orders has run"
        inside = sum(self.low <= order <= self.high for order in best)
        middle = pd.Series(best).median()
        return inside >= MOST * len(best), f"{inside} of {len(best)}; median best order {middle:g}"


@dataclass(frozen=True)
class Ahead:
    """Whether `a` beats `b` at one depth."""

    a: str
    b: str
    depth: int
    metrics: tuple[str, ...] = BOTH

    @property
    def rule(self) -> str:
        return (
            f"{NAMES[self.a]} has the better median in three quarters of data sets x "
            f"{scores_of(self.metrics)}, and loses no more t-tests than it wins"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        table = of(complete(suite, (self.a, self.b), self.depth), self.metrics)
        if table.empty:
            return missing((self.a, self.b), self.depth)
        better = int((table[self.a] < table[self.b]).sum())
        rows = suite.pairs[
            (suite.pairs["depth"] == self.depth) & suite.pairs["metric"].isin(self.metrics)
        ]
        tests = ahead(rows, self.a, self.b)
        _, won, lost = duel(rows, self.a, self.b)
        evidence = (
            f"better median in {better} of {len(table)}; {tests[1] if tests else 'no t-test'}"
        )
        holds = better >= MOST * len(table)
        return holds and won >= lost, evidence


@dataclass(frozen=True)
class NotBehind:
    """Whether each of some names is as good as `b` or better, at one depth."""

    names: tuple[str, ...]
    b: str
    depth: int

    @property
    def rule(self) -> str:
        return f"each loses no more t-tests against {NAMES[self.b]} than it wins, RMSE and NLL"

    def find(self, suite: ThesisRuns) -> Finding:
        parts, holds = [], []
        rows = suite.pairs[suite.pairs["depth"] == self.depth]
        for name in self.names:
            own, won, lost = duel(rows, name, self.b)
            if own.empty:
                return missing((*self.names, self.b), self.depth)
            parts.append(f"{NAMES[name]} won {won}, lost {lost} of {len(own)}")
            holds.append(won >= lost)
        return all(holds), "; ".join(parts)


@dataclass(frozen=True)
class Place:
    """Whether names take the first or last places among some contenders, at one depth.

    Attributes:
        names: what the claim is about.
        among: all contenders.
        depth: hidden layers.
        reach: how many places count.
        last: from the end.
        metrics: scores compared.
    """

    names: tuple[str, ...]
    among: tuple[str, ...]
    depth: int
    reach: int = 1
    last: bool = False
    metrics: tuple[str, ...] = BOTH

    @property
    def rule(self) -> str:
        end = "last" if self.last else "first"
        places = f"the {end} place" if self.reach == 1 else f"one of the {end} {self.reach} places"
        return (
            f"{places} of {len(self.among)} by the rank of medians, averaged over data sets x "
            f"{scores_of(self.metrics)}"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        table = of(complete(suite, self.among, self.depth), self.metrics)
        if table.empty:
            return missing(self.among, self.depth)
        mean = table.rank(axis=1).mean().sort_values(kind="stable")
        ends = list(mean.index[-self.reach :] if self.last else mean.index[: self.reach])
        evidence = ", ".join(f"{NAMES[str(n)]} {value:.1f}" for n, value in mean.items())
        datasets = table.index.get_level_values(0).nunique()
        return set(self.names) <= set(ends), f"mean ranks: {evidence} ({counted(datasets)})"


@dataclass(frozen=True)
class Calibrated:
    """Whether these divergences are well calibrated on the toy at one depth."""

    names: tuple[str, ...]
    depth: int

    @property
    def rule(self) -> str:
        return f"inside one deviation each differs from 0.68 by at most {WELL_CALIBRATED}"

    def find(self, suite: ThesisRuns) -> Finding:
        own = _at(suite.sigma, self.names, self.depth)
        if own is None:
            return missing(self.names, self.depth)
        table = printed("calibration")["difference"]
        keys = [(PRINTED_NAMES.get(name, name), self.depth) for name in self.names]
        theirs = bool((table.loc[keys] <= WELL_CALIBRATED).all())
        evidence = ", ".join(f"{NAMES[n]} {own.loc[n, 'inside_1']:.2f}" for n in self.names)
        holds = bool((own["difference"] <= WELL_CALIBRATED).all())
        return holds, f"{evidence}; the thesis's table: {VERDICTS[theirs]}"


@dataclass(frozen=True)
class Rises:
    """Whether the share inside one deviation rises from one hidden layer to three."""

    names: tuple[str, ...]
    falls: bool = False

    @property
    def rule(self) -> str:
        return f"the share inside one deviation is {'lower' if self.falls else 'higher'} at depth 3"

    def find(self, suite: ThesisRuns) -> Finding:
        shallow, deep = (_at(suite.sigma, self.names, depth) for depth in (1, 3))
        if shallow is None or deep is None:
            return missing(self.names, 1 if shallow is None else 3)
        rise = deep["inside_1"] - shallow["inside_1"]
        evidence = ", ".join(f"{NAMES[name]} {rise[name]:+.2f}" for name in self.names)
        return bool(((rise < 0) if self.falls else (rise > 0)).all()), evidence


@dataclass(frozen=True)
class Shallowest:
    """Whether every criterion of every divergence is least with one hidden layer."""

    rule: str = "BIC, AIC and HQC of every divergence are least at depth 1"

    def find(self, suite: ThesisRuns) -> Finding:
        table = suite.criteria
        table = table[table["name"].isin(DIVERGENCES)] if len(table) else table
        if table.empty or table["depth"].nunique() < 2:
            return None, "the toy has not run at two depths"
        long = table.melt(["name", "depth"], ["bic", "aic", "hqc"])
        best = long.loc[long.groupby(["name", "variable"])["value"].idxmin(), "depth"]
        return bool((best == 1).all()), f"least at depth 1 in {(best == 1).sum()} of {len(best)}"


def _at(table: pd.DataFrame, names: Sequence[str], depth: int) -> pd.DataFrame | None:
    if table.empty:
        return None
    own = table[(table["depth"] == depth) & table["name"].isin(names)]
    own = own.drop_duplicates("name").set_index("name")
    return own.loc[list(names)] if set(names) <= set(own.index) else None
