"""Which of two runs is better: the Bayesian correlated t-test (book, section 4.7.5).

Corani & Benavoli (2015). The splits of one data set share training points, so their scores are
correlated; the test's variance is widened by `rho / (1 - rho)` with `rho` the test fraction
(Nadeau & Bengio 2003). A difference smaller than the region of practical equivalence (ROPE) does
not count.

Pairs are rows that name both runs by their digests; `named` puts names beside them, for readers or
for whoever counts several runs as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.labels import labels
from bnnbench.results.metrics import BY_KEY, Metric, printed_in
from bnnbench.results.reader import Runs

CORRELATION = 0.1  # of two splits: the test fraction
ROPE = 0.01  # of a metric in the target's unit a fraction, of another in its unit
DECIDED = 0.95  # probability from which a comparison counts as won, lost or tied
LEAST_SPLITS = 3  # common ones, from which a t-test is made: two leave it one degree of freedom

COLUMNS = (
    "dataset",
    "metric",
    "run_a",
    "run_b",
    "splits",
    "difference",
    "rope",
    "p_better",
    "p_equivalent",
    "p_worse",
)
"""Of pairs: `splits` counts the common ones, `difference` is the mean of `a - b`."""

Scores = Mapping[str, Mapping[str, np.ndarray]]
"""By metric and run, the score of each split, `[S]`; NaN where it diverged or did not run."""


def correlated_t_test(a: np.ndarray, b: np.ndarray, rope: float) -> tuple[float, float, float]:
    """Posterior probabilities that `a` is better, equivalent, or worse.

    Args:
        a: scores by split, `[n]`, higher is better.
        b: scores on the same splits.
        rope: half-width of the region of practical equivalence, in the scores' unit.

    Returns:
        `(P(a > b + rope), P(|a - b| <= rope), P(b > a + rope))` under a Student posterior with
        n - 1 degrees of freedom.
    """
    from baycomp.single import Posterior

    difference, n = b - a, len(a)
    # baycomp's own entry point takes whole runs of cross-validation only, not 5 random splits.
    widened = difference.var(ddof=1) * (1 / n + CORRELATION / (1 - CORRELATION))
    posterior = Posterior(difference.mean(), widened, n - 1, max(rope, 1e-300))
    left, middle, right = posterior.probs()
    return float(left), float(middle), float(right)


def equivalence(metric: Metric, mean: float, rope: float = ROPE) -> float:
    """Half-width of the region of practical equivalence, in the metric's unit.

    Args:
        metric: what is compared.
        mean: of the two scores compared.
        rope: in the target's unit a fraction of that mean, for a log-likelihood nats.
    """
    return rope * mean if metric.unit == "target" else rope


def compare_scores(
    a: np.ndarray, b: np.ndarray, metric: Metric, rope: float = ROPE
) -> dict[str, Any] | None:
    """One comparison of two runs on the splits that both finished without diverging.

    Args:
        a: scores by split, `[S]`, NaN where there is none.
        b: the other run's, on the same splits.
        metric: what they are.
        rope: as for `equivalence`.

    Returns:
        The last six of `COLUMNS`; None if fewer than `LEAST_SPLITS` splits are common.
    """
    common = ~(np.isnan(a) | np.isnan(b))
    x, y = a[common], b[common]
    if len(x) < LEAST_SPLITS:
        return None
    better = -metric.sign
    width = equivalence(metric, (x.mean() + y.mean()) / 2, rope)
    won, tied, lost = correlated_t_test(better * x, better * y, width)
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
    table = runs.scored
    named = table.assign(label=labels(table)).sort_values(["dataset", "label"])
    rows: list[dict[str, Any]] = []
    for dataset, group in named.groupby("dataset"):
        own = scores_of(runs.splits, group.index)
        rows += compared(str(dataset), own, own, combinations(group.index, 2), rope)
    return pd.DataFrame(rows, columns=COLUMNS)


def pairs_between(first: Runs, second: Runs, rope: float = ROPE) -> pd.DataFrame:
    """Every run of `first` against every run of `second` on the same data set."""
    rows: list[dict[str, Any]] = []
    for dataset, group in first.scored.groupby("dataset", sort=False):
        other = second.scored[second.scored["dataset"] == dataset]
        # A folder may hold the same run as the other, with other numbers: each keeps its own.
        numbers = sorted({*first.splits["split"], *second.splits["split"]})
        ours = scores_of(first.splits, group.index, numbers)
        theirs = scores_of(second.splits, other.index, numbers)
        rows += compared(str(dataset), ours, theirs, product(group.index, other.index), rope)
    return pd.DataFrame(rows, columns=COLUMNS)


def scores_of(splits: pd.DataFrame, runs: pd.Index, numbers: Sequence[int] | None = None) -> Scores:
    """The scores of some runs that are compared.

    Args:
        splits: rows of `Runs.splits`.
        runs: of one data set.
        numbers: of the splits, in the order of the scores; those that there are if not given.
    """
    own = splits[splits["run"].isin(runs)]
    wide = {
        m.key: own.pivot(index="split", columns="run", values=m.key) for m in printed_in("pairs")
    }
    if numbers is not None:
        wide = {key: table.reindex(numbers) for key, table in wide.items()}
    return {
        key: {str(run): table[run].to_numpy(float) for run in table} for key, table in wide.items()
    }


def compared(
    dataset: str, first: Scores, second: Scores, couples: Iterable[tuple[str, str]], rope: float
) -> Iterator[dict[str, Any]]:
    """The rows of all couples of runs on one data set that share enough splits.

    Args:
        dataset: its name.
        first: scores of the first run of each couple.
        second: of the second, on the same splits.
        couples: of runs.
        rope: as for `equivalence`.
    """
    for a, b in couples:
        for metric in printed_in("pairs"):
            cells = compare_scores(first[metric.key][a], second[metric.key][b], metric, rope)
            if cells:
                yield {"dataset": dataset, "metric": metric.key, "run_a": a, "run_b": b, **cells}


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
