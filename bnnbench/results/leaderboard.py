"""Every published value on the data sets of some runs, ours among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnnbench.results.labels import marked_labels
from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.published import published, published_modern
from bnnbench.results.published_protocol import has_protocol
from bnnbench.results.reader import Runs

COLUMNS = ("dataset", "metric", "method", "mean", "stderr", "splits", "source")

OURS = "ours"
"""The source of our own runs."""

PUBLIC = "public"
"""Of a row whose mean is over the public splits; `own` of others, `unknown` if nobody says."""


def leaderboard(
    runs: Runs, metrics: Sequence[Metric] = printed_in("published"), every: bool = True
) -> pd.DataFrame:
    """Published values of every method on the data sets of these runs, and the runs' own.

    Args:
        runs: with what the reader brought.
        metrics: which, in their order.
        every: whether everything on record stands there, or only what was brought.

    Returns:
        Rows under `COLUMNS`, by data set and metric the best first; the unit is the target's or
        nats. None where no run is on data that anything was published on.
    """
    own = runs.scored
    like = np.array([has_protocol(run) for run in own.to_dict("records")], dtype=bool) & every
    like |= own["dataset"].isin(runs.beside["dataset"]).to_numpy()
    if not like.any():
        return pd.DataFrame(columns=COLUMNS)
    found = [*([theirs()] if every else []), brought(runs.beside), ours(own[like], metrics)]
    rows = pd.concat([table[list(COLUMNS)] for table in found if len(table)])
    order = {str(name): place for place, name in enumerate(own.loc[like, "dataset"].unique())}
    places = {metric.key: place for place, metric in enumerate(metrics)}
    rows = rows[rows["dataset"].isin(order) & rows["metric"].isin(places)]
    if not every:
        there = pd.MultiIndex.from_frame(runs.beside[["dataset", "metric"]])
        rows = rows[pd.MultiIndex.from_frame(rows[["dataset", "metric"]]).isin(there)]
    signs = rows["metric"].map({metric.key: metric.sign for metric in metrics})
    rows = rows.assign(
        loss=signs * rows["mean"],
        set=rows["dataset"].map(order),
        place=rows["metric"].map(places),
    )
    best_first = rows.dropna(subset=["loss"]).sort_values(["set", "place", "loss"])
    return best_first[list(COLUMNS)].reset_index(drop=True)


def theirs() -> pd.DataFrame:
    """Everything on record, under `COLUMNS`."""
    rows = pd.concat([published().assign(splits=PUBLIC), published_modern()])
    return rows.assign(source=rows["source"] + " " + rows["year"].astype(str))


def brought(rows: pd.DataFrame) -> pd.DataFrame:
    """What the reader brought, under `COLUMNS`.

    Args:
        rows: `Runs.beside`.
    """
    source = (rows["source"] + " " + rows["year"]).str.strip()
    known = rows["splits"].where(rows["splits"] != "", "unknown")
    return rows.assign(source=source.where(source != "", "brought"), splits=known)


def ours(table: pd.DataFrame, metrics: Sequence[Metric]) -> pd.DataFrame:
    """The means of runs under `COLUMNS`.

    Args:
        table: rows of `Runs.scored`.
        metrics: which.
    """
    names = marked_labels(table)
    public = table["settings"].map(lambda settings: settings.get("dataset.seeded_splits") is None)
    whose = {
        "dataset": table["dataset"],
        "method": names,
        "splits": public.map({True: PUBLIC, False: "own"}),
    }
    return pd.concat(
        pd.DataFrame({
            **whose, "metric": metric.key, "source": OURS,
            "mean": table[f"{metric.key}_mean"], "stderr": table[f"{metric.key}_stderr"],
        })
        for metric in metrics
    )  # fmt: skip
