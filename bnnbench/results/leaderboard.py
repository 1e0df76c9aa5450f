"""Published values on the data sets of some runs, with our own values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnnbench.results.labels import marked_labels
from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.published.protocol import has_protocol
from bnnbench.results.published.values import published_modern, published_uci
from bnnbench.results.reader import Runs

COLUMNS = ("dataset", "metric", "method", "mean", "stderr", "splits", "source")

OURS = "ours"
"""Source of our own runs."""

PUBLIC = "public"
"""Value of the column `splits` for means over the public splits; others are `own` or `unknown`."""


def leaderboard(
    runs: Runs, metrics: Sequence[Metric] = printed_in("published"), all_published: bool = True
) -> pd.DataFrame:
    """Return published values on the data sets of these runs, and the runs' own values.

    Args:
        runs: with the user's published values.
        metrics: in the order of the result.
        all_published: whether to include all built-in published values, or only the user's.

    Returns:
        Columns `COLUMNS`, sorted by data set and metric, best first; units of the target or nats.
        Empty if nothing was published on the data sets of these runs.
    """
    scored = runs.scored
    selected = (
        np.array([has_protocol(run) for run in scored.to_dict("records")], dtype=bool)
        & all_published
    )
    selected |= scored["dataset"].isin(runs.user_published["dataset"]).to_numpy()
    if not selected.any():
        return pd.DataFrame(columns=COLUMNS)
    tables = [
        *([published_rows()] if all_published else []),
        user_rows(runs.user_published),
        own_rows(scored[selected], metrics),
    ]
    rows = pd.concat([table[list(COLUMNS)] for table in tables if len(table)])
    order = {
        str(name): position
        for position, name in enumerate(scored.loc[selected, "dataset"].unique())
    }
    metric_order = {metric.key: position for position, metric in enumerate(metrics)}
    rows = rows[rows["dataset"].isin(order) & rows["metric"].isin(metric_order)]
    if not all_published:
        user_pairs = pd.MultiIndex.from_frame(runs.user_published[["dataset", "metric"]])
        rows = rows[pd.MultiIndex.from_frame(rows[["dataset", "metric"]]).isin(user_pairs)]
    signs = rows["metric"].map({metric.key: metric.sign for metric in metrics})
    rows = rows.assign(
        loss=signs * rows["mean"],
        set=rows["dataset"].map(order),
        place=rows["metric"].map(metric_order),
    )
    ordered = rows.dropna(subset=["loss"]).sort_values(["set", "place", "loss"])
    return ordered[list(COLUMNS)].reset_index(drop=True)


def published_rows() -> pd.DataFrame:
    """Return all built-in published values, columns `COLUMNS`."""
    rows = pd.concat([published_uci().assign(splits=PUBLIC), published_modern()])
    return rows.assign(source=rows["source"] + " " + rows["year"].astype(str))


def user_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the user's published values, columns `COLUMNS`.

    Args:
        rows: `Runs.user_published`.
    """
    source = (rows["source"] + " " + rows["year"]).str.strip()
    known = rows["splits"].where(rows["splits"] != "", "unknown")
    return rows.assign(source=source.where(source != "", "user"), splits=known)


def own_rows(table: pd.DataFrame, metrics: Sequence[Metric]) -> pd.DataFrame:
    """Return the means of runs, columns `COLUMNS`.

    Args:
        table: rows of `Runs.scored`.
        metrics: the metrics.
    """
    names = marked_labels(table)
    public = table["settings"].map(lambda settings: settings.get("dataset.seeded_splits") is None)
    run_columns = {
        "dataset": table["dataset"],
        "method": names,
        "splits": public.map({True: PUBLIC, False: "own"}),
    }
    return pd.concat(
        pd.DataFrame({
            **run_columns, "metric": metric.key, "source": OURS,
            "mean": table[f"{metric.key}_mean"], "stderr": table[f"{metric.key}_stderr"],
        })
        for metric in metrics
    )  # fmt: skip
