"""Which methods rank before which over data sets (Demsar 2006).

Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7, section 3.2.2: the
Friedman test of mean ranks, and Nemenyi's critical difference between two of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.labels import marked_labels
from bnnbench.results.metrics import METRICS, Metric
from bnnbench.results.reader import Runs

LEVEL = 0.05
"""Of both tests."""

LEAST_DATASETS, LEAST_METHODS = 2, 3
"""Below which nothing is ranked: of two methods the t-test of every pair says more."""

RANKED = tuple(metric for metric in METRICS if metric.key in ("rmse", "log_likelihood", "crps"))


@dataclass(frozen=True)
class Ranking:
    """The ranks of `k` methods on `N` data sets by one metric.

    Attributes:
        metric: by which they rank.
        ranks: rows are data sets, columns methods; the best has 1, equals share the mean of theirs.
    """

    metric: Metric
    ranks: pd.DataFrame

    @property
    def mean_ranks(self) -> pd.Series:
        """By method, the best first."""
        return self.ranks.mean().sort_values(kind="stable")

    @property
    def chi2(self) -> float:
        """Friedman's statistic, chi-squared with `k - 1` degrees of freedom for many data sets."""
        n, k = self.ranks.shape
        means = self.ranks.mean()
        return float(12 * n / (k * (k + 1)) * ((means**2).sum() - k * (k + 1) ** 2 / 4))

    @property
    def f(self) -> float:
        """Iman and Davenport's statistic, which is less conservative; infinite if all agree."""
        n, k = self.ranks.shape
        rest = n * (k - 1) - self.chi2
        return (n - 1) * self.chi2 / rest if rest > 1e-9 * n * (k - 1) else math.inf

    @property
    def p_value(self) -> float:
        """The chance of such an `f` or a greater one if no method is better than another."""
        from scipy.stats import f

        n, k = self.ranks.shape
        return float(f.sf(self.f, k - 1, (k - 1) * (n - 1)))

    @property
    def critical_difference(self) -> float:
        """Nemenyi's: mean ranks that are closer are not told apart at `LEVEL`."""
        from scipy.stats import studentized_range

        n, k = self.ranks.shape
        q = studentized_range.ppf(1 - LEVEL, k, math.inf) / math.sqrt(2)
        return float(q * math.sqrt(k * (k + 1) / (6 * n)))

    def groups(self) -> list[tuple[str, str]]:
        """First and last of the methods that are not told apart, the largest such groups."""
        means, found = self.mean_ranks, list[tuple[int, int]]()
        for first in range(len(means)):
            near = means.to_numpy() - means.iloc[first] < self.critical_difference
            last = int(near.nonzero()[0].max())
            if last > first and not any(last <= end for _, end in found):
                found.append((first, last))
        names = [str(name) for name in means.index]
        return [(names[first], names[last]) for first, last in found]


@dataclass(frozen=True)
class Rankings:
    """What can be ranked of the runs of one experiment, which share their splits.

    Attributes:
        experiment: its label.
        by: a ranking per metric, over the same methods and data sets.
        runs: the digests of the runs in them.
        left_out: methods that did not run on all of these data sets.
    """

    experiment: str
    by: tuple[Ranking, ...]
    runs: tuple[str, ...]
    left_out: tuple[str, ...]


def ranked(scores: pd.DataFrame, metric: Metric) -> Ranking:
    """The ranking by some scores.

    Args:
        scores: rows are data sets, columns methods.
        metric: what they are.
    """
    return Ranking(metric, (metric.sign * scores).rank(axis=1))


def rankings(runs: Runs, metrics: Sequence[Metric] = RANKED) -> list[Rankings]:
    """Mean ranks over the data sets that all methods of an experiment have.

    Of all ways to leave out the methods with the fewest data sets, that which keeps most runs.
    Made data are no data sets, and a run of which every split was lost has no rank. Experiments
    with too few of either are left out.

    Args:
        runs: all kinds of them.
        metrics: by which they rank.
    """
    table = runs.scored
    if table.empty:
        return []
    own = table[~table["made"].astype(bool) & table["rmse_mean"].notna()]
    groups = own.groupby("experiment", sort=False)
    return [found for name, group in groups if (found := _of_one(str(name), group, metrics))]


def _of_one(experiment: str, table: pd.DataFrame, metrics: Sequence[Metric]) -> Rankings | None:
    """The rankings of the runs of one experiment, under their names in it."""
    table = table.assign(label=marked_labels(table))

    def scores(rows: pd.DataFrame, metric: Metric) -> pd.DataFrame:
        return rows.pivot(index="dataset", columns="label", values=f"{metric.key}_mean")

    kept = largest_block(scores(table, RANKED[0]).notna())
    if kept is None:
        return None
    datasets, methods = kept
    inside = table[table["dataset"].isin(datasets) & table["label"].isin(methods)]
    whole = {metric: scores(inside, metric) for metric in metrics}
    by = [ranked(own, metric) for metric, own in whole.items() if own.notna().all(axis=None)]
    if not by:
        return None
    left_out = sorted(set(table["label"]) - set(methods))
    return Rankings(experiment, tuple(by), tuple(inside.index), tuple(left_out))


def largest_block(there: pd.DataFrame) -> tuple[Sequence[str], Sequence[str]] | None:
    """Data sets and methods that all met, as many runs as can be; None if too few did.

    Args:
        there: whether a method (column) has a data set (row).
    """
    best: tuple[Sequence[str], Sequence[str]] | None = None
    for least in sorted(there.sum().unique()):
        methods = list(there.columns[there.sum() >= least])
        datasets = list(there.index[there[methods].all(axis=1)])
        enough = len(datasets) >= LEAST_DATASETS and len(methods) >= LEAST_METHODS
        if enough and (best is None or len(datasets) * len(methods) > len(best[0]) * len(best[1])):
            best = datasets, methods
    return best
