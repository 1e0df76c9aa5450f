"""Seconds per split against scores, and the Pareto front of both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnnbench.results.labels import labels
from bnnbench.results.metrics import Metric
from bnnbench.results.reader import Runs

SECONDS = "total_seconds"
"""Seconds of search, final fit and prediction of one split."""

METADATA_COLUMNS = ("dataset", "experiment", "method", "label", "seed", "splits")

GROUP_COLUMNS = ["dataset", "experiment"]
"""Runs with the same values are compared: they share their splits."""


def pareto_front(seconds: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Return which points no other point dominates.

    Args:
        seconds: `[N]`, lower is better.
        losses: `[N]`, lower is better.

    Returns:
        `[N]` booleans; False for points that are not finite.
    """
    known = np.isfinite(seconds) & np.isfinite(losses)
    no_more = (seconds[:, None] <= seconds) & (losses[:, None] <= losses)
    less = (seconds[:, None] < seconds) | (losses[:, None] < losses)
    beaten = (no_more & less & known[:, None]).any(axis=0)
    return np.asarray(known & ~beaten)


def time_against_score(runs: Runs, metrics: Sequence[Metric]) -> pd.DataFrame:
    """Return the timed runs of experiments with at least two of them on a real data set.

    Args:
        runs: as returned by `read_runs`.
        metrics: the scores.

    Returns:
        Columns `METADATA_COLUMNS`, mean, std and stderr of the seconds and of every metric, and
        `<metric>_front`: whether no comparable run is both faster and better.
    """
    table = runs.scored
    if table.empty:
        return pd.DataFrame()
    timed = table[~table["synthetic"].astype(bool) & (table[f"{SECONDS}_mean"] > 0)]
    timed = timed[timed.groupby(GROUP_COLUMNS)["method"].transform("size") > 1]
    if timed.empty:
        return pd.DataFrame()
    numbers = [
        f"{key}_{kind}"
        for key in (SECONDS, *(metric.key for metric in metrics))
        for kind in ("mean", "std", "stderr")
    ]
    result = timed.assign(label=labels(timed))[[*METADATA_COLUMNS, *numbers]]
    return result.assign(**{f"{metric.key}_front": on_front(result, metric) for metric in metrics})


def on_front(table: pd.DataFrame, metric: Metric) -> pd.Series:
    """Return whether each run is on the Pareto front of its group.

    Args:
        table: means of the seconds and of the metric.
        metric: the score.
    """
    result = pd.Series(False, table.index)
    for _, group in table.groupby(GROUP_COLUMNS):
        losses = metric.sign * group[f"{metric.key}_mean"]
        front = pareto_front(group[f"{SECONDS}_mean"].to_numpy(), losses.to_numpy())
        result.loc[group.index] = front
    return result
