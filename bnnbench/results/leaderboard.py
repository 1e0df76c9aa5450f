"""Every published value on the data sets of some runs, ours among them."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.labels import marked_labels
from bnnbench.results.metrics import printed_in
from bnnbench.results.published import published, published_modern
from bnnbench.results.published_protocol import has_protocol
from bnnbench.results.reader import Runs

COLUMNS = ("dataset", "metric", "method", "mean", "stderr", "splits", "source")

OURS = "ours"
"""The source of our own runs."""

PUBLIC = "public"
"""Of a row whose mean is over the public splits; `own` of others, `unknown` if nobody says."""


def leaderboard(runs: Runs) -> pd.DataFrame:
    """Published values of every method on the data sets of these runs, and the runs' own.

    Returns:
        Rows under `COLUMNS`, by data set and metric the best first; the unit is the target's or
        nats. None where no run is on data that anything was published on.
    """
    own = runs.scored
    like = [has_protocol(run) for run in own.to_dict("records")]
    if not any(like):
        return pd.DataFrame(columns=COLUMNS)
    rows = pd.concat([theirs(), ours(own[like])])[list(COLUMNS)]
    rows = rows[rows["dataset"].isin(own.loc[like, "dataset"])]
    signs = rows["metric"].map({metric.key: metric.sign for metric in printed_in("published")})
    places = {metric.key: place for place, metric in enumerate(printed_in("published"))}
    rows = rows.assign(loss=signs * rows["mean"], place=rows["metric"].map(places))
    best_first = rows.dropna(subset=["loss"]).sort_values(["dataset", "place", "loss"])
    return best_first[list(COLUMNS)].reset_index(drop=True)


def theirs() -> pd.DataFrame:
    """Everything published, under `COLUMNS`."""
    rows = pd.concat([published().assign(splits=PUBLIC), published_modern()])
    return rows.assign(source=rows["source"] + " " + rows["year"].astype(str))


def ours(table: pd.DataFrame) -> pd.DataFrame:
    """The means of runs under `COLUMNS`.

    Args:
        table: rows of `Runs.scored`.
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
        for metric in printed_in("published")
    )  # fmt: skip
