"""Pairwise comparison of runs by the correlated t-test (book, section 4.7.5).

The splits of one data set share training rows, so their scores are correlated; the test inflates
the variance by `rho / (1 - rho)`, with `rho` the fraction of rows in the test part (Nadeau & Bengio
2003). Intervals and p-values are two-sided. Corani & Benavoli (2015) read the same Student
distribution as a posterior: the probabilities that a run is better, or that the difference is
inside the region of practical equivalence (ROPE). `outcomes` decides by the p-values.

Pairs are rows that identify both runs by their digests; `add_names` adds names, for printing or to
count several runs as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd

from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS, DatasetPairs
from bnnbench.results.metric_table import Metric, printed_in

ROPE = 0.01  # nats for a log-likelihood, a fraction of the mean score for other metrics
SIGNIFICANCE_LEVEL = 0.05  # of two-sided tests; intervals contain 1 - SIGNIFICANCE_LEVEL

INTERVAL = f"{100 * (1 - SIGNIFICANCE_LEVEL):g} % interval"

ROUNDING = 1e-6
"""Fraction of a score below which a difference is rounding, such as between processors."""

ScoreT = TypeVar("ScoreT", float, np.ndarray)

COLUMNS = (
    *("dataset", "metric", "run_a", "run_b"),
    *("splits", "of_splits", "diverged_a", "diverged_b"),
    *("mean_a", "mean_b", "difference", "low", "high", "std", "rho", "rope"),
    *("p_value", "p_better", "p_equivalent", "p_worse"),
)
"""Columns of pairs: `splits` counts the shared splits on which neither run diverged, `of_splits`
those of the run that has more, `diverged_a` those on which `a` diverged but `b` did not. Over the
shared splits, `mean_a` and `mean_b` are the mean scores, `difference` and `std` mean and standard
deviation of `a - b`, and `rho` is the mean test fraction. `low` and `high` are the ends of the
interval around the difference at `SIGNIFICANCE_LEVEL`, and `p_value` is two-sided, or 1 if the
difference is `ROUNDING`; both are for this pair alone, not adjusted for other pairs."""


def mean_error(std: ScoreT, splits: ScoreT, rho: ScoreT) -> ScoreT:
    """Return the standard error of a mean difference over splits that share training rows.

    Nadeau & Bengio (2003): `std * sqrt(1 / splits + rho / (1 - rho))`, with `std` the standard
    deviation over the splits and `rho` the fraction of rows in the test part.
    """
    error: ScoreT = std * (1 / splits + rho / (1 - rho)) ** 0.5
    return error


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
        a: scores by pair and split, `[K, S]`, NaN where missing.
        b: the other runs' scores on the same splits.
        test_fraction: the fraction of rows that each split tests on, `[K, S]`.
        metric: the metric.
        rope: as for `rope_width`.

    Returns:
        `splits` and the columns from `mean_a` on (see `COLUMNS`), `[K]` each; NaN for pairs with
        fewer than two splits in common.
    """
    common = np.isfinite(a) & np.isfinite(b)
    if len(few := np.flatnonzero(common.sum(1) < 2)):
        rest = np.flatnonzero(common.sum(1) >= 2)
        found = compare_scores(a[rest], b[rest], test_fraction[rest], metric, rope)
        cells = {name: np.full(len(a), np.nan) for name in found}
        for name, values in found.items():
            cells[name][rest] = values
        cells["splits"][few] = common[few].sum(1)
        return {**cells, "splits": cells["splits"].astype(int)}
    x, y, fraction = (np.where(common, values, np.nan) for values in (a, b, test_fraction))
    means, rho = (np.nanmean(x, 1), np.nanmean(y, 1)), np.nanmean(fraction, 1)
    width = rope_width(metric, (means[0] + means[1]) / 2, rope)
    better = -metric.sign
    won, tied, lost = correlated_t_test(better * x, better * y, width, rho)
    splits, mean, std = common.sum(1), np.nanmean(x - y, 1), np.nanstd(x - y, 1, ddof=1)
    half, p = interval_and_p(mean, std, splits, rho)
    is_rounding = np.abs(mean) + half < ROUNDING * np.abs(means[1])
    return {
        "splits": splits,
        "mean_a": means[0],
        "mean_b": means[1],
        "difference": mean,
        "low": mean - half,
        "high": mean + half,
        "std": std,
        "rho": rho,
        "rope": width,
        "p_value": np.where(is_rounding, 1.0, p),
        "p_better": won,
        "p_equivalent": tied,
        "p_worse": lost,
    }


def compare_pairs(
    pairs_by_dataset: Iterable[DatasetPairs],
    rope: float = ROPE,
    metrics: Sequence[Metric] = printed_in("pairs"),
) -> pd.DataFrame:
    """Compare all pairs that share enough splits; columns `COLUMNS`.

    Pairs that share enough splits, but too few without a divergence, have no means and no test.
    """
    tables = [pd.DataFrame(columns=COLUMNS)]
    for dataset, first, second, pairs in pairs_by_dataset:
        both = list(pairs)
        if not both:
            continue
        runs_a, runs_b = (list(runs) for runs in zip(*both, strict=True))
        n_a, n_b = (
            {run: scores.has_split(run).sum() for run in scores.test_fraction}
            for scores in (first, second)
        )
        of_splits = [max(n_a[a], n_b[b]) for a, b in both]
        names = pd.DataFrame({"run_a": runs_a, "run_b": runs_b, "of_splits": of_splits})
        fraction = np.stack([first.test_fraction[a] for a in runs_a])
        both_ran = ~np.isnan(fraction + np.stack([second.test_fraction[b] for b in runs_b]))
        lost_a, lost_b = (
            both_ran & (np.stack([scores.diverged[run] for run in runs]) > 0)
            for scores, runs in ((first, runs_a), (second, runs_b))
        )
        alone = {
            "diverged_a": (lost_a & ~lost_b).sum(1),
            "diverged_b": (lost_b & ~lost_a).sum(1),
        }
        decided = (alone["diverged_a"] + alone["diverged_b"] > 0) & (
            both_ran.sum(1) >= MIN_COMMON_SPLITS
        )
        metric_tables = []
        for metric in metrics:
            a = np.stack([first.scores[metric.key][run] for run in runs_a])
            b = np.stack([second.scores[metric.key][run] for run in runs_b])
            common = (np.isfinite(a) & np.isfinite(b)).sum(1)
            kept = np.flatnonzero((common >= MIN_COMMON_SPLITS) | decided)
            cells = {
                **{name: counts[kept] for name, counts in alone.items()},
                **compare_scores(a[kept], b[kept], fraction[kept], metric, rope),
            }
            metric_tables.append(
                names.iloc[kept].assign(dataset=dataset, metric=metric.key, **cells)
            )
        # Sort by pair, then by metric.
        tables.append(pd.concat(metric_tables).sort_index(kind="stable")[list(COLUMNS)])
    nonempty = [table for table in tables if len(table)] or tables
    return pd.concat(nonempty, ignore_index=True)


def interval_and_p(
    mean: np.ndarray, std: np.ndarray, splits: np.ndarray, rho: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return half the width of the interval around mean differences, and their p-values.

    Args:
        mean: mean difference over splits, `[K]`.
        std: standard deviation over splits, `[K]`.
        splits: number of splits, `[K]`.
        rho: the fraction of rows in the test part, `[K]`.

    Returns:
        The half-widths at `SIGNIFICANCE_LEVEL`, in the unit of the scores, and the two-sided
        p-values of a true difference of zero; 1 for identical scores. `[K]` each.
    """
    from scipy.special import stdtr, stdtrit

    error = mean_error(std, splits, rho)
    with np.errstate(divide="ignore", invalid="ignore"):  # identical differences
        statistic = np.where(mean != 0, np.abs(mean) / error, 0)
    quantile = stdtrit(splits - 1.0, 1 - SIGNIFICANCE_LEVEL / 2)
    return quantile * error, np.asarray(2 * stdtr(splits - 1.0, -statistic))


def holm(p: np.ndarray) -> np.ndarray:
    """Adjust p-values for multiple tests (Holm 1979).

    Rejecting those below a level keeps the probability of any false rejection below that level.
    """
    order = np.argsort(p)
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1)
    return adjusted


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
