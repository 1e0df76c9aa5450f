"""Pairwise comparison of runs by the Bayesian correlated t-test (book, section 4.7.5).

Corani & Benavoli (2015). The splits of one data set share training rows, so their scores are
correlated; the test inflates the variance by `rho / (1 - rho)`, with `rho` the fraction of rows in
the test part (Nadeau & Bengio 2003). A difference inside the region of practical equivalence (ROPE)
does not count. Intervals and p-values are those of the same Student distribution.

Pairs are rows that identify both runs by their digests; `add_names` adds names, for printing or to
count several runs as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd

from bnnbench.results.metrics import BY_KEY, Metric, printed_in
from bnnbench.results.pairing import MIN_COMMON_SPLITS, DatasetPairs, dataset_pairs
from bnnbench.results.run_tables import Runs

ROPE = 0.01  # nats for a log-likelihood, a fraction of the mean score for other metrics
DECISION_PROBABILITY = 0.95  # above it, a comparison is won, lost or equivalent
SIGNIFICANCE_LEVEL = 0.05  # of two-sided tests; intervals contain 1 - SIGNIFICANCE_LEVEL

ScoreT = TypeVar("ScoreT", float, np.ndarray)

COLUMNS = (
    "dataset",
    "metric",
    "run_a",
    "run_b",
    "splits",
    "of_splits",
    "diverged_a",
    "diverged_b",
    "mean_a",
    "mean_b",
    "difference",
    "std",
    "rho",
    "rope",
    "p_better",
    "p_equivalent",
    "p_worse",
)
"""Columns of pairs: `splits` counts the shared splits on which neither run diverged, `of_splits`
those of the run that has more, `diverged_a` those on which `a` diverged but `b` did not. Over the
shared splits, `mean_a` and `mean_b` are the mean scores, `difference` and `std` mean and standard
deviation of `a - b`, and `rho` is the mean test fraction."""


def mean_error(std: ScoreT, splits: ScoreT, rho: ScoreT) -> ScoreT:
    """Return the standard error of a mean difference over splits that share training rows.

    Nadeau & Bengio (2003): `std * sqrt(1 / splits + rho / (1 - rho))`, with `std` the standard
    deviation over the splits and `rho` the fraction of rows in the test part.
    """
    return std * (1 / splits + rho / (1 - rho)) ** 0.5


def correlated_t_test(
    a: np.ndarray, b: np.ndarray, rope: np.ndarray, correlation: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return posterior probabilities that `a` is better, equivalent, or worse, for many pairs.

    Args:
        a: scores by split, `[..., S]`, higher is better, NaN where missing.
        b: scores on the same splits.
        rope: half-width of the region of practical equivalence, in the scores' unit, `[...]`.
        correlation: correlation between splits, the fraction of rows in the test part, `[...]`.

    Returns:
        `(P(a > b + rope), P(|a - b| <= rope), P(b > a + rope))`, `[...]` each, under a Student
        posterior with n - 1 degrees of freedom for the n splits that both have.
    """
    from scipy.special import stdtr

    difference = a - b
    n = np.isfinite(difference).sum(-1)
    mean = np.nanmean(difference, -1)
    scale = mean_error(np.nanstd(difference, -1, ddof=1), n, correlation)
    with np.errstate(divide="ignore", invalid="ignore"):  # identical differences
        worse = stdtr(n - 1, (-rope - mean) / scale)
        better = stdtr(n - 1, (mean - rope) / scale)
    certain = scale == 0
    worse = np.where(certain, mean < -rope, worse)
    better = np.where(certain, mean > rope, better)
    return better, 1 - better - worse, worse


def rope_width(metric: Metric, mean: ScoreT, rope: float = ROPE) -> ScoreT:
    """Return the half-width of the region of practical equivalence, in the metric's unit.

    `rope` is in nats for a log-likelihood, otherwise a fraction of `mean`.
    """
    return 0 * mean + rope if metric.unit == "nats" else rope * mean


def compare_scores(
    a: np.ndarray, b: np.ndarray, test_fraction: np.ndarray, metric: Metric, rope: float = ROPE
) -> dict[str, np.ndarray]:
    """Compare K pairs of runs on the splits that both finished without diverging.

    Args:
        a: scores by pair and split, `[K, S]`, NaN where missing; every pair has at least two
            splits in common.
        b: the other runs' scores on the same splits.
        test_fraction: the fraction of rows that each split tests on, `[K, S]`.
        metric: the metric.
        rope: as for `rope_width`.

    Returns:
        `splits` and the columns from `mean_a` on (see `COLUMNS`), `[K]` each.
    """
    common = np.isfinite(a) & np.isfinite(b)
    x, y, fraction = (np.where(common, values, np.nan) for values in (a, b, test_fraction))
    means, rho = (np.nanmean(x, 1), np.nanmean(y, 1)), np.nanmean(fraction, 1)
    width = rope_width(metric, (means[0] + means[1]) / 2, rope)
    better = -metric.sign
    won, tied, lost = correlated_t_test(better * x, better * y, width, rho)
    return {
        "splits": common.sum(1),
        "mean_a": means[0],
        "mean_b": means[1],
        "difference": np.nanmean(x - y, 1),
        "std": np.nanstd(x - y, 1, ddof=1),
        "rho": rho,
        "rope": width,
        "p_better": won,
        "p_equivalent": tied,
        "p_worse": lost,
    }


def all_pairs(runs: Runs, rope: float = ROPE) -> pd.DataFrame:
    """Compare all runs that share at least `MIN_COMMON_SPLITS` splits, in the order of labels."""
    return compare_pairs(dataset_pairs(runs), rope)


def compare_pairs(
    pairs_by_dataset: Iterable[DatasetPairs],
    rope: float = ROPE,
    metrics: Sequence[Metric] = printed_in("pairs"),
) -> pd.DataFrame:
    """Compare all pairs that share enough splits; columns `COLUMNS`."""
    tables = [pd.DataFrame(columns=COLUMNS)]
    for dataset, first, second, pairs in pairs_by_dataset:
        all_pairs = list(pairs)
        if not all_pairs:
            continue
        runs_a, runs_b = (list(runs) for runs in zip(*all_pairs, strict=True))
        n_a, n_b = (
            {run: scores.has_split(run).sum() for run in scores.test_fraction}
            for scores in (first, second)
        )
        of_splits = [max(n_a[a], n_b[b]) for a, b in all_pairs]
        names = pd.DataFrame({"run_a": runs_a, "run_b": runs_b, "of_splits": of_splits})
        fraction = np.stack([first.test_fraction[a] for a in runs_a])
        both_ran = ~np.isnan(fraction + np.stack([second.test_fraction[b] for b in runs_b]))
        metric_tables = []
        for metric in metrics:
            a = np.stack([first.scores[metric.key][run] for run in runs_a])
            b = np.stack([second.scores[metric.key][run] for run in runs_b])
            valid_a, valid_b = np.isfinite(a), np.isfinite(b)
            enough = np.flatnonzero((valid_a & valid_b).sum(1) >= MIN_COMMON_SPLITS)
            cells = {
                "diverged_a": (both_ran & ~valid_a & valid_b).sum(1)[enough],
                "diverged_b": (both_ran & valid_a & ~valid_b).sum(1)[enough],
                **compare_scores(a[enough], b[enough], fraction[enough], metric, rope),
            }
            metric_tables.append(
                names.iloc[enough].assign(dataset=dataset, metric=metric.key, **cells)
            )
        # Sort by pair, then by metric.
        tables.append(pd.concat(metric_tables).sort_index(kind="stable")[list(COLUMNS)])
    nonempty = [table for table in tables if len(table)] or tables
    return pd.concat(nonempty, ignore_index=True)


def intervals(pairs: pd.DataFrame) -> pd.Series:
    """Return half the width of the interval around each difference, at `SIGNIFICANCE_LEVEL`."""
    from scipy.special import stdtrit

    quantile = stdtrit(pairs["splits"].to_numpy(float) - 1, 1 - SIGNIFICANCE_LEVEL / 2)
    return quantile * mean_error(pairs["std"], pairs["splits"], pairs["rho"])


def p_values(pairs: pd.DataFrame) -> np.ndarray:
    """Return the two-sided p-values of equal means, `[K]`; 1 for identical scores."""
    from scipy.special import stdtr

    error = mean_error(pairs["std"], pairs["splits"], pairs["rho"]).to_numpy(float)
    difference = pairs["difference"].abs().to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):  # identical differences
        statistic = np.where(difference > 0, difference / error, 0)
    return np.asarray(2 * stdtr(pairs["splits"].to_numpy(float) - 1, -statistic))


def holm(p: np.ndarray) -> np.ndarray:
    """Adjust p-values for multiple tests (Holm 1979).

    Rejecting those below a level keeps the probability of any false rejection below that level.
    """
    order = np.argsort(p)
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1)
    return adjusted


def not_credibly_worse(losses: pd.Series, pairs: pd.DataFrame) -> set[str]:
    """Return the run with the lowest loss and all runs that do not lose to it (`verdicts`).

    Runs that share too few splits with the best are left out.

    Args:
        losses: of the runs on one data set (`comparable_losses`); runs without one are left out.
        pairs: the tests on this data set by this metric.
    """
    known = losses.dropna()
    if known.empty:
        return set()
    best = str(known.idxmin())
    is_a, is_b = pairs["run_a"] == best, pairs["run_b"] == best
    found = verdicts(pairs)
    rest = pd.concat([pairs.loc[is_a & (found != "a"), "run_b"],
                      pairs.loc[is_b & (found != "b"), "run_a"]])  # fmt: skip
    return {best, *rest[rest.isin(known.index)]}


def describe_shared_splits(pairs: pd.DataFrame) -> str:
    """Describe how many splits the pairs share: `18 of 20 splits shared`."""
    few, many = int(pairs["splits"].min()), int(pairs["splits"].max())
    if few < many:
        return f"between {few} and {many} splits shared"
    return f"{few} of {int(pairs['of_splits'].max())} splits shared"


def add_names(pairs: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    """Add the names of both runs, columns `a` and `b`; drop pairs with an unnamed run.

    Several runs may share a name.
    """
    both = {"a": pairs["run_a"].map(names), "b": pairs["run_b"].map(names)}
    return pairs.assign(**both).dropna(subset=["a", "b"])


def verdicts(pairs: pd.DataFrame) -> pd.Series:
    """Return `a`, `b`, `equivalent` or `undecided` for each pair, by `DECISION_PROBABILITY`.

    If only one run diverged on some shared split, it loses, whatever its other scores. If both
    did, on different splits, the pair is undecided. Pairs without `diverged_a` and `diverged_b` are
    decided by the test.
    """
    diverged = pairs.reindex(columns=["diverged_a", "diverged_b"], fill_value=0) > 0
    lost_a, lost_b = diverged["diverged_a"], diverged["diverged_b"]
    probabilities = {"p_better": "a", "p_equivalent": "equivalent", "p_worse": "b"}
    conditions = {
        "undecided": lost_a & lost_b, "a": lost_b, "b": lost_a,
    }  # fmt: skip
    decided = [*conditions.values(), *(pairs[p] > DECISION_PROBABILITY for p in probabilities)]
    result = np.select(decided, [*conditions, *probabilities.values()], default="undecided")
    return pd.Series(result, pairs.index, dtype=object)


def outcomes(pairs: pd.DataFrame) -> pd.Series:
    """Return `a`, `b` or `tie` for each pair: equivalent and undecided ones are ties."""
    return verdicts(pairs).replace({"equivalent": "tie", "undecided": "tie"})


def tally(pairs: pd.DataFrame) -> pd.DataFrame:
    """Count wins, ties and losses of each name by metric, over data sets and opponents.

    See `outcomes`.

    Returns:
        Columns `metric`, `method` (the name), `wins`, `ties` and `losses`.
    """
    results = outcomes(pairs)
    sides = [
        pd.DataFrame({
            "metric": pd.Categorical(pairs["metric"], list(BY_KEY)),  # sorts by their table
            "method": pairs[side],
            "wins": results == side,
            "ties": results == "tie",
            "losses": results == other,
        })
        for side, other in (("a", "b"), ("b", "a"))
    ]  # fmt: skip
    groups = pd.concat(sides).groupby(["metric", "method"], observed=True)
    counts = groups[["wins", "ties", "losses"]].sum().astype(int)
    return counts.reset_index().astype({"metric": object})
