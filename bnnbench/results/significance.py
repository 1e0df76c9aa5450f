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
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.metrics import BY_KEY, Metric, printed_in
from bnnbench.results.pairing import LEAST_SPLITS, MOST_NAMED, Meeting, meetings
from bnnbench.results.reader import Runs

ROPE = 0.01  # of a log-likelihood nats, of another metric a fraction
DECIDED = 0.95  # probability from which a comparison counts as won, lost or tied

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
    a: np.ndarray, b: np.ndarray, rope: float, correlation: float
) -> tuple[float, float, float]:
    """Posterior probabilities that `a` is better, equivalent, or worse.

    Args:
        a: scores by split, `[n]`, higher is better.
        b: scores on the same splits.
        correlation: of the scores of two splits: the share of the rows that a split tests on.
        rope: half-width of the region of practical equivalence, in the scores' unit.

    Returns:
        `(P(a > b + rope), P(|a - b| <= rope), P(b > a + rope))` under a Student posterior with
        n - 1 degrees of freedom.
    """
    from baycomp.single import Posterior

    difference, n = b - a, len(a)
    # baycomp's own entry point takes whole runs of cross-validation only, not 5 random splits.
    widened = difference.var(ddof=1) * (1 / n + correlation / (1 - correlation))
    posterior = Posterior(difference.mean(), widened, n - 1, max(rope, 1e-300))
    left, middle, right = posterior.probs()
    return float(left), float(middle), float(right)


def equivalence(metric: Metric, mean: float, rope: float = ROPE) -> float:
    """Half-width of the region of practical equivalence, in the metric's unit.

    Args:
        metric: what is compared.
        mean: of the two scores compared.
        rope: for a log-likelihood nats, else a fraction of that mean.
    """
    return rope if metric.unit == "nats" else rope * mean


def compare_scores(
    a: np.ndarray, b: np.ndarray, tested: np.ndarray, metric: Metric, rope: float = ROPE
) -> dict[str, Any] | None:
    """One comparison of two runs on the splits that both finished without diverging.

    Args:
        a: scores by split, `[S]`, NaN where there is none.
        b: the other run's, on the same splits.
        tested: the share of the rows that each split tests on, `[S]`.
        metric: what they are.
        rope: as for `equivalence`.

    Returns:
        `splits` and the last five of `COLUMNS`; None if fewer than `LEAST_SPLITS` are common.
    """
    common = ~(np.isnan(a) | np.isnan(b))
    x, y = a[common], b[common]
    if len(x) < LEAST_SPLITS:
        return None
    better = -metric.sign
    width = equivalence(metric, (x.mean() + y.mean()) / 2, rope)
    won, tied, lost = correlated_t_test(better * x, better * y, width, tested[common].mean())
    return {
        "splits": len(x),
        "difference": (x - y).mean(),
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
    rows: list[dict[str, Any]] = []
    for dataset, first, second, couples in met:
        for a, b in couples:
            names = {"dataset": dataset, "run_a": a, "run_b": b}
            names["of_splits"] = max(first.has(a).sum(), second.has(b).sum())
            for metric in metrics:
                scores = first.scores[metric.key][a], second.scores[metric.key][b]
                cells = compare_scores(*scores, first.tested[a], metric, rope)
                rows += [{**names, "metric": metric.key, **cells}] if cells else []
    return pd.DataFrame(rows, columns=COLUMNS)


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
