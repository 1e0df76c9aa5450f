"""Seconds of a split against its scores, and which runs no other one beats in both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnnbench.results.labels import labels
from bnnbench.results.metrics import Metric
from bnnbench.results.reader import Runs

SECONDS = "total_seconds"
"""Of search, final fit and prediction of one split."""

NAMED = ("dataset", "experiment", "method", "label", "seed", "splits")

SHARED = ["dataset", "experiment"]
"""What runs share that are held against each other: their splits follow from it."""


def pareto_front(seconds: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Which points no other one beats: at most as long and as bad, and less in one of them.

    Args:
        seconds: `[N]`, the fewer the better.
        losses: `[N]`, the lower the better.

    Returns:
        `[N]` booleans; points that are not finite are never on it.
    """
    known = np.isfinite(seconds) & np.isfinite(losses)
    no_more = (seconds[:, None] <= seconds) & (losses[:, None] <= losses)
    less = (seconds[:, None] < seconds) | (losses[:, None] < losses)
    beaten = (no_more & less & known[:, None]).any(axis=0)
    return np.asarray(known & ~beaten)


def time_against_score(runs: Runs, metrics: Sequence[Metric]) -> pd.DataFrame:
    """The runs of an experiment on a data set where two at least were timed; no made data.

    Args:
        runs: of `read_runs`.
        metrics: the scores.

    Returns:
        Columns `NAMED`, mean, std and stderr of the seconds and of every metric, and for each
        metric `<metric>_front`: whether no run that it is held
        against is both faster and better.
    """
    table = runs.scored
    if table.empty:
        return pd.DataFrame()
    own = table[~table["made"].astype(bool) & (table[f"{SECONDS}_mean"] > 0)]
    own = own[own.groupby(SHARED)["method"].transform("size") > 1]
    if own.empty:
        return pd.DataFrame()
    numbers = [
        f"{key}_{kind}"
        for key in (SECONDS, *(metric.key for metric in metrics))
        for kind in ("mean", "std", "stderr")
    ]
    found = own.assign(label=labels(own))[[*NAMED, *numbers]]
    return found.assign(**{f"{metric.key}_front": on_front(found, metric) for metric in metrics})


def on_front(table: pd.DataFrame, metric: Metric) -> pd.Series:
    """Whether each run is on the front of those of `SHARED`.

    Args:
        table: with the means of the seconds and of the metric.
        metric: which.
    """
    found = pd.Series(False, table.index)
    for _, group in table.groupby(SHARED):
        losses = metric.sign * group[f"{metric.key}_mean"]
        front = pareto_front(group[f"{SECONDS}_mean"].to_numpy(), losses.to_numpy())
        found.loc[group.index] = front
    return found
