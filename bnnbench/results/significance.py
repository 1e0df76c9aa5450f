"""Which of two methods is better: the Bayesian correlated t-test (book, section 4.7.5).

Corani & Benavoli (2015). The splits of one data set share training points, so their scores are
correlated; the test's variance is widened by `rho / (1 - rho)` with `rho` the test fraction
(Nadeau & Bengio 2003). A difference smaller than the region of practical equivalence (ROPE) does
not count.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report.plotting import sketch
from bnnbench.results.tables import labels, read_splits, record, runs_below

CORRELATION = 0.1  # of two splits: the test fraction
HIGHER_IS_BETTER = {"rmse": False, "log_likelihood": True, "crps": False}
ROPE = 0.01  # of RMSE and CRPS a fraction, of the log-likelihood nats
DECIDED = 0.95  # probability from which a comparison counts as won, lost or tied


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


def equivalence(metric: str, mean: float, rope: float = ROPE) -> float:
    """Half-width of the region of practical equivalence, in the metric's unit.

    Args:
        metric: a key of `HIGHER_IS_BETTER`.
        mean: of the two scores compared.
        rope: for RMSE and CRPS a fraction of that mean, for the log-likelihood nats.
    """
    return rope if HIGHER_IS_BETTER[metric] else rope * mean


def compare_scores(
    a: pd.DataFrame, b: pd.DataFrame, metric: str, rope: float
) -> dict[str, Any] | None:
    """One comparison of two runs on the splits that both finished without diverging.

    Args:
        a: rows of `splits.csv`.
        b: rows of the other run's.
        metric: a key of `HIGHER_IS_BETTER`.
        rope: as for `equivalence`.

    Returns:
        Mean difference `a - b` in the metric's unit and the three probabilities; None if fewer
        than two splits are common.
    """
    both = a.merge(b, on="split", suffixes=("_a", "_b")).dropna(
        subset=[f"{metric}_a", f"{metric}_b"]
    )
    if len(both) < 2:
        return None
    x, y = both[f"{metric}_a"].to_numpy(), both[f"{metric}_b"].to_numpy()
    better = 1 if HIGHER_IS_BETTER[metric] else -1
    width = equivalence(metric, (x.mean() + y.mean()) / 2, rope)
    won, tied, lost = correlated_t_test(better * x, better * y, width)
    return {
        "splits": len(both),
        "difference": (x - y).mean(),
        "rope": width,
        "p_better": won,
        "p_equivalent": tied,
        "p_worse": lost,
    }


def all_pairs(path: Path, rope: float = ROPE) -> pd.DataFrame:
    """Every pair of runs on every data set and metric below `path`.

    Two runs are a pair if they share at least two splits of a data set.

    Columns: `dataset`, `metric`, `a`, `b` (labels), then those of `compare_scores`; no rows if
    there is no pair.

    Raises:
        UserError: if there is no finished run.
    """
    runs = runs_below(path)
    scores = [read_splits(run) for run in runs]
    named = pd.DataFrame(map(record, runs))
    named = named.assign(label=labels(named)).sort_values(["dataset", "label"])
    rows = []
    for dataset, group in named.groupby("dataset"):
        for (i, a), (j, b) in combinations(group["label"].items(), 2):
            rows += _rows(str(dataset), a, b, scores[i], scores[j], rope)
    return pd.DataFrame(rows)


def two_paths(first: Path, second: Path, rope: float = ROPE) -> pd.DataFrame:
    """Every run below `first` against every run on the same data set below `second`.

    Raises:
        UserError: if either holds no finished run.
    """
    left, right = ([read_splits(r) for r in runs_below(path)] for path in (first, second))
    rows = []
    for a in left:
        for b in right:
            dataset = str(a["dataset"].iloc[0])
            if dataset == b["dataset"].iloc[0]:
                names = (str(a["method"].iloc[0]), str(b["method"].iloc[0]))
                if names[0] == names[1]:
                    names = (f"{names[0]} (1st)", f"{names[1]} (2nd)")
                rows += _rows(dataset, *names, a, b, rope)
    return pd.DataFrame(rows)


def verdict(row: pd.Series) -> str:
    """`a`, `b`, `equivalent` or `undecided`, at probability `DECIDED`."""
    names = {"p_better": str(row["a"]), "p_equivalent": "equivalent", "p_worse": str(row["b"])}
    return next((name for key, name in names.items() if row[key] > DECIDED), "undecided")


def tally(pairs: pd.DataFrame) -> pd.DataFrame:
    """Wins, ties and losses of each method by metric, over data sets and opponents.

    A win is a difference beyond the ROPE with probability over `DECIDED`; whatever is equivalent
    or undecided is a tie.
    """
    decided = pairs.assign(verdict=pairs.apply(verdict, axis=1))
    rows = []
    for metric, group in decided.groupby("metric", sort=False):
        for name in sorted({*group["a"], *group["b"]}):
            own = group[(group["a"] == name) | (group["b"] == name)]
            wins = int((own["verdict"] == name).sum())
            ties = int(own["verdict"].isin(["equivalent", "undecided"]).sum())
            rows.append(
                {"metric": metric, "method": name, "wins": wins, "ties": ties,
                 "losses": len(own) - wins - ties}
            )  # fmt: skip
    return pd.DataFrame(rows)


def heat_map(pairs: pd.DataFrame, metric: str) -> Figure:
    """P(row better than column) beyond the ROPE, one panel per data set."""
    pairs = pairs[pairs["metric"] == metric]
    groups = list(pairs.groupby("dataset"))
    names = sorted({*pairs["a"], *pairs["b"]})
    columns = min(4, len(groups))
    side = 1.4 + 0.55 * len(names)
    height = side * -(-len(groups) // columns)
    figure, panels = sketch(side * columns + 0.8, height + 0.4, columns, -(-len(groups) // columns))
    image = None
    for axes, (dataset, group) in zip(panels, groups, strict=False):
        table = pd.DataFrame(np.nan, index=names, columns=names)
        for row in group.to_dict("records"):
            table.loc[row["a"], row["b"]] = row["p_better"]
            table.loc[row["b"], row["a"]] = row["p_worse"]
        image = axes.imshow(table, vmin=0, vmax=1, cmap="cividis")
        axes.set_title(str(dataset), fontsize="medium")
        axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize="small")
        axes.set_yticks(range(len(names)), names, fontsize="small")
        for i, j in np.argwhere(table.notna().to_numpy()):
            value = table.iloc[i, j]
            colour = "black" if value > 0.6 else "white"
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=7)
    for axes in panels[len(groups) :]:
        axes.set_axis_off()
    if image is not None:
        figure.colorbar(image, ax=panels, label="P(row better than column)", shrink=0.8)
    return figure


def _rows(
    dataset: str, a: str, b: str, left: pd.DataFrame, right: pd.DataFrame, rope: float
) -> list[dict[str, Any]]:
    compared = {m: compare_scores(left, right, m, rope) for m in HIGHER_IS_BETTER}
    names = {"dataset": dataset, "a": a, "b": b}
    return [{**names, "metric": m, **cells} for m, cells in compared.items() if cells]
