"""Which of two runs is better: the Bayesian correlated t-test (book, section 4.7.5).

Corani & Benavoli (2015). The splits of one data set share training points, so their scores are
correlated; the test's variance is widened by `rho / (1 - rho)` with `rho` the share of the rows
that is tested on (Nadeau & Bengio 2003). A difference smaller than the region of practical
equivalence (ROPE) does not count.

Pairs are rows that name both runs by their digests; `named` puts names beside them, for readers or
for whoever counts several runs as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd

from bnnbench.results.metrics import BY_KEY, Metric, printed_in
from bnnbench.results.pairing import LEAST_SPLITS, MOST_NAMED, Meeting, meetings
from bnnbench.results.reader import Runs

ROPE = 0.01  # of a log-likelihood nats, of another metric a fraction
DECIDED = 0.95  # probability from which a comparison counts as won, lost or tied

Means = TypeVar("Means", float, np.ndarray)

COLUMNS = (
    "dataset",
    "metric",
    "run_a",
    "run_b",
    "splits",
    "of_splits",
    "difference",
    "rope",
    "p_better",
    "p_equivalent",
    "p_worse",
)
"""Of pairs: `splits` counts those that both share and neither lost, `of_splits` those of the run
that has more; `difference` is the mean of `a - b`."""


def correlated_t_test(
    a: np.ndarray, b: np.ndarray, rope: np.ndarray, correlation: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Posterior probabilities that `a` is better, equivalent, or worse, of many pairs at once.

    Args:
        a: scores by split, `[..., S]`, higher is better, NaN where there is none.
        b: scores on the same splits.
        rope: half-width of the region of practical equivalence, in the scores' unit, `[...]`.
        correlation: of the scores of two splits: the share of the rows that a split tests on,
            `[...]`.

    Returns:
        `(P(a > b + rope), P(|a - b| <= rope), P(b > a + rope))`, `[...]` each, under a Student
        posterior with n - 1 degrees of freedom for the n splits that both have.
    """
    from scipy.special import stdtr

    difference = a - b
    n = np.isfinite(difference).sum(-1)
    mean, variance = np.nanmean(difference, -1), np.nanvar(difference, -1, ddof=1)
    scale = np.sqrt(variance * (1 / n + correlation / (1 - correlation)))
    with np.errstate(divide="ignore", invalid="ignore"):  # all splits differ by the same
        worse = stdtr(n - 1, (-rope - mean) / scale)
        better = stdtr(n - 1, (mean - rope) / scale)
    certain = scale == 0
    worse = np.where(certain, mean < -rope, worse)
    better = np.where(certain, mean > rope, better)
    return better, 1 - better - worse, worse


def equivalence(metric: Metric, mean: Means, rope: float = ROPE) -> Means:
    """Half-width of the region of practical equivalence, in the metric's unit.

    Args:
        metric: what is compared.
        mean: of the two scores compared.
        rope: for a log-likelihood nats, else a fraction of that mean.
    """
    return 0 * mean + rope if metric.unit == "nats" else rope * mean


def compare_scores(
    a: np.ndarray, b: np.ndarray, tested: np.ndarray, metric: Metric, rope: float = ROPE
) -> dict[str, np.ndarray]:
    """Comparisons of two runs each, on the splits that both finished without diverging.

    Args:
        a: scores by pair and split, `[K, S]`, NaN where there is none; every pair has at least
            two in common.
        b: the other runs', on the same splits.
        tested: the share of the rows that each split tests on, `[K, S]`.
        metric: what they are.
        rope: as for `equivalence`.

    Returns:
        `splits` and the last five of `COLUMNS`, `[K]` each.
    """
    common = np.isfinite(a) & np.isfinite(b)
    x, y, share = (np.where(common, values, np.nan) for values in (a, b, tested))
    width = equivalence(metric, (np.nanmean(x, 1) + np.nanmean(y, 1)) / 2, rope)
    better = -metric.sign
    won, tied, lost = correlated_t_test(better * x, better * y, width, np.nanmean(share, 1))
    return {
        "splits": common.sum(1),
        "difference": np.nanmean(x - y, 1),
        "rope": width,
        "p_better": won,
        "p_equivalent": tied,
        "p_worse": lost,
    }


def all_pairs(runs: Runs, rope: float = ROPE) -> pd.DataFrame:
    """Every pair of runs on every data set and metric, in the order of their labels.

    Two runs are a pair if they share at least `LEAST_SPLITS` splits of a data set.
    """
    return tested(meetings(runs), rope)


def pairs_between(first: Runs, second: Runs, rope: float = ROPE) -> pd.DataFrame:
    """Every run of `first` against every run of `second` on the same data set."""
    return tested(meetings(first, second), rope)


def tested(
    met: Iterable[Meeting], rope: float = ROPE, metrics: Sequence[Metric] = printed_in("pairs")
) -> pd.DataFrame:
    """The comparisons of all couples that share enough splits, under `COLUMNS`.

    Args:
        met: of `meetings`, of these metrics.
        rope: as for `equivalence`.
        metrics: that are compared.
    """
    found = [pd.DataFrame(columns=COLUMNS)]
    for dataset, first, second, couples in met:
        every = list(couples)
        if not every:
            continue
        ones, others = (list(runs) for runs in zip(*every, strict=True))
        ours, theirs = ({run: one.has(run).sum() for run in one.tested} for one in (first, second))
        has = [max(ours[a], theirs[b]) for a, b in every]
        names = pd.DataFrame({"run_a": ones, "run_b": others, "of_splits": has})
        share = np.stack([first.tested[a] for a in ones])
        tables = []
        for metric in metrics:
            a = np.stack([first.scores[metric.key][run] for run in ones])
            b = np.stack([second.scores[metric.key][run] for run in others])
            kept = np.flatnonzero((np.isfinite(a) & np.isfinite(b)).sum(1) >= LEAST_SPLITS)
            cells = compare_scores(a[kept], b[kept], share[kept], metric, rope)
            tables.append(names.iloc[kept].assign(dataset=dataset, metric=metric.key, **cells))
        # Couple by couple, every metric of each.
        found.append(pd.concat(tables).sort_index(kind="stable")[list(COLUMNS)])
    whole = [table for table in found if len(table)] or found
    return pd.concat(whole, ignore_index=True)


def not_worse(means: pd.Series, pairs: pd.DataFrame, metric: Metric) -> set[str]:
    """The run of the best mean, and every other that is not credibly worse than it.

    Credibly worse is one to which the best is better beyond the ROPE with probability over
    `DECIDED`. Of runs that share too few splits with the best nothing is known: they are left out.

    Args:
        means: of the metric by run, on one data set.
        pairs: rows of `tested` on that data set, of that metric.
        metric: what they are.
    """
    losses = (metric.sign * means).dropna()
    if losses.empty:
        return set()
    best = str(losses.idxmin())
    beaten = pd.concat([
        pairs[pairs["run_a"] == best].set_index("run_b")["p_better"],
        pairs[pairs["run_b"] == best].set_index("run_a")["p_worse"],
    ])  # fmt: skip
    return {best, *beaten.index[beaten <= DECIDED]}


def shared(pairs: pd.DataFrame) -> str:
    """`18 of 20 splits shared`, for some pairs."""
    kinds = pairs[["splits", "of_splits"]].drop_duplicates().sort_values("splits")
    said = [f"{splits} of {most}" for splits, most in kinds.to_numpy(int)]
    few = len(said) <= MOST_NAMED
    return f"{', '.join(said) if few else f'{said[0]} to {said[-1]}'} splits shared"


def named(pairs: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    """The pairs with their names, `a` and `b`; pairs of a run that has none are left out.

    Args:
        pairs: rows under `COLUMNS`.
        names: of runs, by digest; several may share one.
    """
    beside = {"a": pairs["run_a"].map(names), "b": pairs["run_b"].map(names)}
    return pairs.assign(**beside).dropna(subset=["a", "b"])


def verdicts(pairs: pd.DataFrame) -> pd.Series:
    """Of each pair `a`, `b`, `equivalent` or `undecided`, at probability `DECIDED`."""
    chances = {"p_better": "a", "p_equivalent": "equivalent", "p_worse": "b"}
    sure = [pairs[column] > DECIDED for column in chances]
    found = np.select(sure, list(chances.values()), default="undecided")
    return pd.Series(found, pairs.index, dtype=object)


def tally(pairs: pd.DataFrame) -> pd.DataFrame:
    """Wins, ties and losses of each name by metric, over data sets and opponents.

    A win is a difference beyond the ROPE with probability over `DECIDED`; whatever is equivalent
    or undecided is a tie.

    Args:
        pairs: of `named`.

    Returns:
        Columns `metric`, `method` (the name), `wins`, `ties` and `losses`.
    """
    found = verdicts(pairs)
    sides = [
        pd.DataFrame({
            "metric": pd.Categorical(pairs["metric"], list(BY_KEY)),  # sorts by their table
            "method": pairs[side],
            "wins": found == side,
            "ties": found.isin(["equivalent", "undecided"]),
            "losses": found == other,
        })
        for side, other in (("a", "b"), ("b", "a"))
    ]  # fmt: skip
    groups = pd.concat(sides).groupby(["metric", "method"], observed=True)
    counts = groups[["wins", "ties", "losses"]].sum().astype(int)
    return counts.reset_index().astype({"metric": object})
