"""Rules for the GVI thesis's claims about its comparison.

Scores are compared by medians over splits, as in its box plots, because a few failed splits
dominate the means. Claims about two contenders are also tested by correlated t-tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.claims import (
    MAJORITY,
    CheckResult,
    check_better,
    count_datasets,
    head_to_head,
)
from bnnbench.results.metrics import BY_KEY
from bnnbench.results.significance import describe_shared_splits
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, NAMES, SCORES, ThesisRuns

ALL_SCORES = SCORES
NLL = ("log_likelihood",)


def join_names(names: Sequence[str]) -> str:
    """Return the thesis's names, separated by commas."""
    return ", ".join(NAMES[name] for name in names)


def join_metrics(metrics: Sequence[str]) -> str:
    """Return `RMSE and NLL`."""
    return " and ".join(BY_KEY[metric].loss for metric in metrics)


def missing_runs(names: Sequence[str], depth: int) -> CheckResult:
    """Return the result for a claim whose runs are missing."""
    return None, f"no data set has runs of {join_names(names)} at depth {depth}"


def complete_datasets(scores: pd.DataFrame, names: Sequence[str], depth: int) -> pd.DataFrame:
    """Return the data sets that have all names at this depth.

    Args:
        scores: `medians` or `spreads` of `ThesisRuns`.
        names: contenders.
        depth: number of hidden layers.

    Returns:
        Rows are data sets x scores, columns names.
    """
    if scores.empty or depth not in scores.index.unique("depth"):
        return pd.DataFrame()
    wide = scores.xs(depth, level="depth").stack().unstack("name")
    if not set(names) <= set(wide):
        return pd.DataFrame()
    return wide[list(names)].dropna()


def select_metrics(table: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Return the rows of `complete_datasets` for some scores."""
    return table[table.index.get_level_values(1).isin(metrics)] if len(table) else table


def rank_medians(table: pd.DataFrame) -> tuple[pd.Series, str]:
    """Return the mean ranks of the columns of `complete_datasets`, best first, also as text."""
    mean = table.rank(axis=1).mean().sort_values(kind="stable")
    text = ", ".join(f"{NAMES[str(n)]} {value:.1f}" for n, value in mean.items())
    return mean, f"mean ranks: {text} ({count_datasets(table.index.get_level_values(0).nunique())})"


@dataclass(frozen=True)
class IsBetter:
    """Whether `a` is better than `b` at one depth."""

    a: str
    b: str
    depth: int
    metrics: tuple[str, ...] = ALL_SCORES

    @property
    def rule(self) -> str:
        return (
            f"{NAMES[self.a]} has the better median in three quarters of data sets x "
            f"{join_metrics(self.metrics)}, and loses no more t-tests than it wins"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        table = select_metrics(
            complete_datasets(suite.medians, (self.a, self.b), self.depth), self.metrics
        )
        if table.empty:
            return missing_runs((self.a, self.b), self.depth)
        better = int((table[self.a] < table[self.b]).sum())
        rows = suite.pairs[
            (suite.pairs["depth"] == self.depth) & suite.pairs["metric"].isin(self.metrics)
        ]
        tests = check_better(rows, self.a, self.b)
        _, won, lost = head_to_head(rows, self.a, self.b)
        evidence = (
            f"better median in {better} of {len(table)}; {tests[1] if tests else 'no t-test'}"
        )
        holds = better >= MAJORITY * len(table)
        return holds and won >= lost, evidence


@dataclass(frozen=True)
class IsNotWorse:
    """Whether each of some names is as good as `b` or better, at one depth."""

    names: tuple[str, ...]
    b: str
    depth: int

    @property
    def rule(self) -> str:
        return f"each loses no more t-tests against {NAMES[self.b]} than it wins (RMSE and NLL)"

    def check(self, suite: ThesisRuns) -> CheckResult:
        parts, holds = [], []
        rows = suite.pairs[suite.pairs["depth"] == self.depth]
        for name in self.names:
            tests, won, lost = head_to_head(rows, name, self.b)
            if tests.empty:
                return missing_runs((*self.names, self.b), self.depth)
            parts.append(f"{NAMES[name]} won {won}, lost {lost} of {len(tests)}")
            holds.append(won >= lost)
        compared = rows[
            rows["a"].isin([*self.names, self.b]) & rows["b"].isin([*self.names, self.b])
        ]
        return all(holds), f"{'; '.join(parts)} ({describe_shared_splits(compared)})"


@dataclass(frozen=True)
class HasRank:
    """Whether names have the first or last ranks among some contenders, at one depth.

    Attributes:
        names: the contenders of the claim, at least as many as ranks.
        among: all contenders.
        depth: number of hidden layers.
        n_ranks: number of ranks; each must belong to one of the names.
        last: whether the last ranks are meant.
        metrics: scores compared.
    """

    names: tuple[str, ...]
    among: tuple[str, ...]
    depth: int
    n_ranks: int = 1
    last: bool = False
    metrics: tuple[str, ...] = ALL_SCORES

    @property
    def rule(self) -> str:
        end = "last" if self.last else "first"
        condition = f"ranks {end}" if self.n_ranks == 1 else f"take the {end} {self.n_ranks} ranks"
        if len(self.names) > self.n_ranks:
            condition = f"one of {join_names(self.names)} ranks {end}"
        return (
            f"{condition} of {len(self.among)} by the rank of medians, averaged over data sets x "
            f"{join_metrics(self.metrics)}"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        table = select_metrics(
            complete_datasets(suite.medians, self.among, self.depth), self.metrics
        )
        if table.empty:
            return missing_runs(self.among, self.depth)
        mean, evidence = rank_medians(table)
        ends = list(mean.index[-self.n_ranks :] if self.last else mean.index[: self.n_ranks])
        return set(ends) <= set(self.names), evidence


@dataclass(frozen=True)
class ImprovesWithDepth:
    """Whether one more layer improves medians, or increases the spread over splits.

    Attributes:
        names: the contenders of the claim.
        depth: number of hidden layers, compared with one layer less.
        metrics: scores compared.
        spread: whether standard deviations over splits must increase, rather than medians improve.
    """

    names: tuple[str, ...]
    depth: int
    metrics: tuple[str, ...] = ALL_SCORES
    spread: bool = False

    @property
    def rule(self) -> str:
        condition = (
            "standard deviation over splits is larger" if self.spread else "median is better"
        )
        return (
            f"the {condition} than with one layer less in three quarters of "
            f"{'contenders x ' * (len(self.names) > 1)}data sets x {join_metrics(self.metrics)}"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        scores = suite.spreads if self.spread else suite.medians
        before, after = (
            select_metrics(complete_datasets(scores, self.names, depth), self.metrics)
            for depth in (self.depth - 1, self.depth)
        )
        common = before.index.intersection(after.index)
        if common.empty:
            return missing_runs(self.names, self.depth - bool(before.empty))
        change = after.loc[common] - before.loc[common]
        holds = (change > 0) if self.spread else (change < 0)
        total = int(holds.to_numpy().sum())
        by_name = ", ".join(f"{NAMES[name]} {holds[name].sum()}" for name in self.names)
        evidence = f"{total} of {holds.size}" + f": {by_name}" * (len(self.names) > 1)
        return total >= MAJORITY * holds.size, evidence


@dataclass(frozen=True)
class MostAreBetter:
    """Whether most divergences are better than `b` on one data set, at one depth."""

    b: str
    dataset: str
    depth: int

    @property
    def rule(self) -> str:
        return (
            f"on {self.dataset} three quarters of the other divergences x RMSE and NLL have a "
            f"better median than {NAMES[self.b]}"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        table = complete_datasets(suite.medians, DIVERGENCES, self.depth)
        table = table[table.index.get_level_values(0) == self.dataset] if len(table) else table
        if table.empty:
            return missing_runs(DIVERGENCES, self.depth)
        better = table.drop(columns=self.b).lt(table[self.b], axis=0)
        evidence = "; ".join(
            f"{join_metrics((str(metric),))}: {join_names(list(row.index[row])) or 'none'}"
            for (_, metric), row in better.iterrows()
        )
        return bool(better.to_numpy().sum() >= MAJORITY * better.size), f"better: {evidence}"
