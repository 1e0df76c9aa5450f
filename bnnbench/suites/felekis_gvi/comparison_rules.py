"""The rules by which the GVI thesis's claims on its comparison are checked on our numbers.

Scores are compared by their medians over splits, as in its box plots, since a few lost splits rule
the means; where two contenders are named, correlated t-tests speak too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.claims import MOST, Finding, ahead, counted, duel
from bnnbench.results.metrics import BY_KEY
from bnnbench.results.significance import shared
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, NAMES, SCORES, ThesisRuns

BOTH = SCORES
NLL = ("log_likelihood",)


def spoken(names: Sequence[str]) -> str:
    """The thesis's names, in one line."""
    return ", ".join(NAMES[name] for name in names)


def scores_of(metrics: Sequence[str]) -> str:
    """`RMSE and NLL`."""
    return " and ".join(BY_KEY[metric].loss for metric in metrics)


def missing(names: Sequence[str], depth: int) -> Finding:
    """The finding where runs are missing."""
    return None, f"no data set has all of {spoken(names)} at depth {depth}"


def complete(scores: pd.DataFrame, names: Sequence[str], depth: int) -> pd.DataFrame:
    """The data sets that have all names at this depth: rows data sets x scores, a column per name.

    Args:
        scores: the medians or spreads of `ThesisRuns`.
        names: contenders.
        depth: hidden layers.
    """
    if scores.empty or depth not in scores.index.unique("depth"):
        return pd.DataFrame()
    wide = scores.xs(depth, level="depth").stack().unstack("name")
    if not set(names) <= set(wide):
        return pd.DataFrame()
    return wide[list(names)].dropna()


def of(table: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """The rows of `complete` of some scores."""
    return table[table.index.get_level_values(1).isin(metrics)] if len(table) else table


def ranked(table: pd.DataFrame) -> tuple[pd.Series, str]:
    """Mean ranks of the columns of `complete` over its rows, best first, and how they are said."""
    mean = table.rank(axis=1).mean().sort_values(kind="stable")
    said = ", ".join(f"{NAMES[str(n)]} {value:.1f}" for n, value in mean.items())
    return mean, f"mean ranks: {said} ({counted(table.index.get_level_values(0).nunique())})"


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
        table = of(complete(suite.medians, (self.a, self.b), self.depth), self.metrics)
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
        met = rows[rows["a"].isin([*self.names, self.b]) & rows["b"].isin([*self.names, self.b])]
        return all(holds), f"{'; '.join(parts)} ({shared(met)})"


@dataclass(frozen=True)
class Place:
    """Whether names take the first or last places among some contenders, at one depth.

    Attributes:
        names: what the claim is about, no fewer than the places.
        among: all contenders.
        depth: hidden layers.
        reach: how many places count; each has to be taken by a name.
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
        if len(self.names) > self.reach:
            places = f"one of {spoken(self.names)} has {places}"
        return (
            f"{places} of {len(self.among)} by the rank of medians, averaged over data sets x "
            f"{scores_of(self.metrics)}"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        table = of(complete(suite.medians, self.among, self.depth), self.metrics)
        if table.empty:
            return missing(self.among, self.depth)
        mean, evidence = ranked(table)
        ends = list(mean.index[-self.reach :] if self.last else mean.index[: self.reach])
        return set(ends) <= set(self.names), evidence


@dataclass(frozen=True)
class Deeper:
    """Whether one more layer makes medians better, or the splits more different.

    Attributes:
        names: what the claim is about.
        depth: hidden layers, compared with one less.
        metrics: scores compared.
        spread: standard deviations over splits, which are to grow, instead of medians.
    """

    names: tuple[str, ...]
    depth: int
    metrics: tuple[str, ...] = BOTH
    spread: bool = False

    @property
    def rule(self) -> str:
        what = "standard deviation over splits is greater" if self.spread else "median is better"
        return (
            f"the {what} than with one layer less in three quarters of "
            f"{'names x ' * (len(self.names) > 1)}data sets x {scores_of(self.metrics)}"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        scores = suite.spreads if self.spread else suite.medians
        before, after = (
            of(complete(scores, self.names, depth), self.metrics)
            for depth in (self.depth - 1, self.depth)
        )
        common = before.index.intersection(after.index)
        if common.empty:
            return missing(self.names, self.depth - bool(before.empty))
        change = after.loc[common] - before.loc[common]
        held = (change > 0) if self.spread else (change < 0)
        whole = int(held.to_numpy().sum())
        each = ", ".join(f"{NAMES[name]} {held[name].sum()}" for name in self.names)
        evidence = f"{whole} of {held.size}" + f": {each}" * (len(self.names) > 1)
        return whole >= MOST * held.size, evidence


@dataclass(frozen=True)
class MostAhead:
    """Whether almost all divergences beat `b` on one data set, at one depth."""

    b: str
    dataset: str
    depth: int

    @property
    def rule(self) -> str:
        return (
            f"on {self.dataset} three quarters of the other divergences x RMSE and NLL have a "
            f"better median than {NAMES[self.b]}"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        table = complete(suite.medians, DIVERGENCES, self.depth)
        table = table[table.index.get_level_values(0) == self.dataset] if len(table) else table
        if table.empty:
            return missing(DIVERGENCES, self.depth)
        better = table.drop(columns=self.b).lt(table[self.b], axis=0)
        evidence = "; ".join(
            f"{scores_of((str(metric),))}: {spoken(list(row.index[row])) or 'none'}"
            for (_, metric), row in better.iterrows()
        )
        return bool(better.to_numpy().sum() >= MOST * better.size), f"better: {evidence}"
