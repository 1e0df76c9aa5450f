"""Methods over several data sets: their mean ranks, and the Bayesian signed-rank test of two.

Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7, 2006, section
3.2.2: the Friedman test of mean ranks, and Nemenyi's critical difference.

Benavoli, Mangili, Corani, Zaffalon & Ruggeri (2014), "A Bayesian Wilcoxon signed-rank test based on
the Dirichlet process": the posterior over the distribution of differences puts random Dirichlet
weights on the data sets and on a prior difference of zero. `baycomp` has the same test; this
implementation multiplies matrices and takes milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from bnnbench.results.compare.significance import SIGNIFICANCE_LEVEL
from bnnbench.results.metric_table import Metric, printed_in
from bnnbench.results.read.labels import common_marked_labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import comparable_losses, with_incomplete

MIN_DATASETS, MIN_METHODS = 2, 3
"""Minimum numbers for a ranking; for two methods the pairwise t-test is more informative."""

RANKED_METRICS = printed_in("pairs")
"""Methods are ranked by the metrics by which pairs of runs are compared."""


@dataclass(frozen=True)
class Ranking:
    """The ranks of `k` methods on `N` data sets by one metric.

    Attributes:
        metric: the metric.
        ranks: rows are data sets, columns methods; the best has rank 1, ties share their mean rank.
    """

    metric: Metric
    ranks: pd.DataFrame

    @property
    def mean_ranks(self) -> pd.Series:
        """Mean rank by method, best first."""
        return self.ranks.mean().sort_values(kind="stable")

    @property
    def chi2(self) -> float:
        """Friedman's statistic, asymptotically chi-squared with `k - 1` degrees of freedom."""
        n, k = self.ranks.shape
        means = self.ranks.mean()
        return float(12 * n / (k * (k + 1)) * ((means**2).sum() - k * (k + 1) ** 2 / 4))

    @property
    def f(self) -> float:
        """Iman and Davenport's less conservative statistic; infinite if all data sets agree."""
        n, k = self.ranks.shape
        rest = n * (k - 1) - self.chi2
        return (n - 1) * self.chi2 / rest if rest > 1e-9 * n * (k - 1) else math.inf

    @property
    def p_value(self) -> float:
        """The p-value of `f` under the hypothesis that all methods are equal."""
        from scipy.stats import f

        n, k = self.ranks.shape
        return float(f.sf(self.f, k - 1, (k - 1) * (n - 1)))

    @property
    def critical_difference(self) -> float:
        """Nemenyi's critical difference: closer mean ranks do not differ significantly."""
        from scipy.stats import studentized_range

        n, k = self.ranks.shape
        q = studentized_range.ppf(1 - SIGNIFICANCE_LEVEL, k, math.inf) / math.sqrt(2)
        return float(q * math.sqrt(k * (k + 1) / (6 * n)))

    def groups(self) -> list[tuple[str, str]]:
        """Return first and last method of each maximal group without significant differences."""
        means, ranges = self.mean_ranks, list[tuple[int, int]]()
        for first in range(len(means)):
            near = means.to_numpy() - means.iloc[first] < self.critical_difference
            last = int(near.nonzero()[0].max())
            if last > first and not any(last <= end for _, end in ranges):
                ranges.append((first, last))
        names = [str(name) for name in means.index]
        return [(names[first], names[last]) for first, last in ranges]


@dataclass(frozen=True)
class Rankings:
    """The rankings of one experiment, whose runs share their splits.

    Attributes:
        experiment: its label.
        by_metric: a ranking per metric, over the same methods and data sets.
        runs: labels of the ranked runs, by their digests.
        excluded: methods without complete runs on all of these data sets, with a reason where
            splits are missing.
    """

    experiment: str
    by_metric: tuple[Ranking, ...]
    runs: Mapping[str, str]
    excluded: tuple[str, ...]


def rank_scores(scores: pd.DataFrame, metric: Metric) -> Ranking:
    """Rank methods by their scores; rows are data sets, columns methods."""
    return Ranking(metric, (metric.sign * scores).rank(axis=1))


def rankings(runs: Runs, metrics: Sequence[Metric] = RANKED_METRICS) -> list[Rankings]:
    """Rank the methods of each experiment over the data sets that all of them have.

    Methods with the fewest data sets are excluded, to keep as many runs as possible.
    Synthetic data are ignored, and experiments with too few methods or data sets are skipped.
    """
    table = runs.scored
    if table.empty:
        return []
    rows = table[~table["synthetic"].astype(bool)]
    groups = (
        (str(name), with_incomplete(group, runs.splits))
        for name, group in rows.groupby("experiment", sort=False)
    )
    return [found for name, own in groups if (found := rank_experiment(name, own, metrics))]


def rank_experiment(
    experiment: str, table: pd.DataFrame, metrics: Sequence[Metric]
) -> Rankings | None:
    """Rank the runs of one experiment, rows of `Runs.scored`; None with too few of them."""
    table = table.assign(label=common_marked_labels(table))

    def losses(rows: pd.DataFrame, metric: Metric) -> pd.DataFrame:
        losses = comparable_losses(rows, metric)
        return rows.assign(loss=losses).pivot(index="dataset", columns="label", values="loss")

    block = largest_block(losses(table, RANKED_METRICS[0]).notna())
    if block is None:
        return None
    datasets, methods = block
    inside = table[table["dataset"].isin(datasets) & table["label"].isin(methods)]
    by = [
        rank_scores(metric.sign * values, metric)
        for metric in metrics
        if (values := losses(inside, metric)).notna().all(axis=None)
    ]
    if not by:
        return None
    excluded = describe_excluded(table[~table["label"].isin(methods)])
    return Rankings(experiment, tuple(by), inside["label"].to_dict(), tuple(excluded))


def describe_excluded(table: pd.DataFrame) -> Iterator[str]:
    """Yield the labels of methods that are not ranked, with what their runs lack."""
    for label, own in table.groupby("label"):
        cells = own[["dataset", "incomplete"]].to_numpy()
        texts = [f"{text} on {data}" for data, text in cells if text and text not in str(label)]
        yield f"{label} ({', '.join(texts)})" if texts else str(label)


def largest_block(present: pd.DataFrame) -> tuple[Sequence[str], Sequence[str]] | None:
    """Return data sets and methods without gaps, with as many runs as possible; None if too few.

    `present` says whether a method (column) has a data set (row).
    """
    best: tuple[Sequence[str], Sequence[str]] | None = None
    for minimum in sorted(present.sum().unique()):
        methods = list(present.columns[present.sum() >= minimum])
        datasets = list(present.index[present[methods].all(axis=1)])
        enough = len(datasets) >= MIN_DATASETS and len(methods) >= MIN_METHODS
        if enough and (best is None or len(datasets) * len(methods) > len(best[0]) * len(best[1])):
            best = datasets, methods
    return best


SAMPLES = 50_000
MIN_SIGNED_RANK_DATASETS = 6
"""Data sets that the test needs: with fewer, it is certain of differences that are chance."""

ERROR_RATES = {6: 0.15, 7: 0.14, 8: 0.14, 9: 0.13}
"""Fraction of cases in which one of two equal methods is better with a probability above 0.95, by
number of data sets: simulated, with normal differences and no region of equivalence."""

PRIOR_STRENGTH = 0.5
"""Weight of the prior difference of zero, in data sets."""


@cache
def posterior_weights(n_datasets: int) -> np.ndarray:
    """Draw weights of the prior difference, then of the data sets, `[SAMPLES, n_datasets + 1]`."""
    concentration = [PRIOR_STRENGTH, *[1.0] * n_datasets]
    return np.random.default_rng(0).dirichlet(concentration, SAMPLES)


def signed_rank_test(differences: np.ndarray, rope: float) -> tuple[float, float, float]:
    """Return posterior probabilities that a method is better, equivalent, or worse.

    Args:
        differences: mean difference on each data set, in one unit, `[N]`; positive is better.
        rope: half-width of the region of practical equivalence, in the same unit.

    Returns:
        The fractions of posterior draws in which more than the other two outcomes, the mean of two
        differences lies above the region, inside it, or below it.
    """
    values = np.concatenate([[0.0], differences])
    means = (values[:, None] + values) / 2
    weights = posterior_weights(len(differences))
    # The Heaviside function splits ties: half of a mean on the boundary is inside.
    above, below = (
        ((weights @ np.heaviside(sign * means - rope, 0.5)) * weights).sum(1) for sign in (1, -1)
    )
    outcome = np.argmax([above, 1 - above - below, below], axis=0)
    better, equivalent, worse = np.bincount(outcome, minlength=3) / SAMPLES
    return float(better), float(equivalent), float(worse)
