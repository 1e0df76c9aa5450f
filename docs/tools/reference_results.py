"""The numbers of the reference pages: the runs of a track, compared with the best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.labels import labels
from bnnbench.results.metrics import BY_KEY, Metric
from bnnbench.results.outcomes import with_outcomes
from bnnbench.results.pairing import DatasetPairs, dataset_pairs
from bnnbench.results.power import with_power
from bnnbench.results.ranking import RANKED_METRICS, largest_block, rank_scores
from bnnbench.results.reference.results import ReferenceResults, reference_runs
from bnnbench.results.reference.tracks import TRACKS
from bnnbench.results.run_tables import Runs
from bnnbench.results.significance import compare_pairs


@dataclass(frozen=True)
class Track:
    """The runs of a track that are compared with each other.

    Attributes:
        name: of the track.
        description: one line.
        tables: by key of a metric, the result of `compare_with_best`.
    """

    name: str
    description: str
    tables: dict[str, pd.DataFrame]


def tracks(results: ReferenceResults) -> list[Track]:
    """Return the tracks that have runs."""
    found = {
        name: (description, reference_runs(results, name))
        for name, description in TRACKS.items()
        if (results.runs["track"] == name).any()
    }
    return [
        Track(name, about, {m.key: compare_with_best(runs, m) for m in METRICS})
        for name, (about, runs) in found.items()
    ]


METRICS = RANKED_METRICS
"""Metrics that have a table."""

PARETO_METRIC = BY_KEY["log_likelihood"]
"""Metric of the ranks in the figure of ranks and times."""

MIN_POINTS = 3
"""Methods in that figure."""


def compare_with_best(runs: Runs, metric: Metric) -> pd.DataFrame:
    """Compare every run with the best ranked run on its data set.

    Returns:
        A row per run: `label`, `method`, `dataset`, `tuning`, `splits`, `note` (why it is
        not ranked, or empty), `ratio` (median CPU time of a split over that of `map`),
        `mean` and `stderr`, `rank` (missing if it is not ranked), and for all but the best
        `difference` (run - best), `low` and `high` (the ends of its interval), `detectable` (the
        smallest difference that the splits detect), and for ranked ones `p_holm` and `outcome`,
        adjusted over the ranked runs of the data set.
    """
    table = runs.scored
    rows = table[["method", "dataset", "tuning", "splits"]].assign(
        label=labels(table),
        note=table["unranked"].where(table["unranked"] != "", table["diverged"].map(diverged)),
        ratio=cost_over_map(runs),
        mean=table[f"{metric.key}_mean"],
        stderr=table[f"{metric.key}_stderr"],
    )
    losses = (metric.sign * rows["mean"]).where(rows["note"] == "")
    rows = rows.assign(rank=losses.groupby(rows["dataset"]).rank())
    best = losses.dropna().groupby(rows["dataset"]).idxmin()
    pairs = compare_pairs(pairs_with(best, runs, metric), metrics=[metric])
    pairs = pairs.set_index(pairs["run_a"].rename("run"))
    compared = with_power(pairs)[["difference", "low", "high", "detectable"]].astype(float)
    tested = with_outcomes(pairs[pairs.index.isin(losses.dropna().index)])[["p_holm", "outcome"]]
    order = ["dataset", "rank", "label"]
    return rows.join(compared).join(tested).sort_values(order, kind="stable")


def cost_over_map(runs: Runs) -> pd.Series:
    """Return the median CPU time of a run's splits over that of `map` on the same data set.

    Times are in units of a reference fit on the same machine.
    """
    times = runs.splits.groupby("run")["cpu_ratio"].median()
    table = runs.scored[["dataset", "method"]].assign(time=times)
    of_map = table[table["method"] == "map"].groupby("dataset")["time"].first()
    return times / table["dataset"].map(of_map)


def diverged(count: int) -> str:
    """Return the reason for which a run with diverged splits is not ranked, or an empty string."""
    return f"{count} splits diverged" if count else ""


def pairs_with(best: pd.Series, runs: Runs, metric: Metric) -> Iterator[DatasetPairs]:
    """Yield the pairs of each run with the best of its data set."""
    for dataset, first, second, _ in dataset_pairs(runs, metrics=[metric]):
        others = [run for run in first.test_fraction if run != best.get(dataset)]
        yield dataset, first, second, [(run, best[dataset]) for run in others if dataset in best]


def mean_ranks(rows: pd.DataFrame, metric: Metric) -> tuple[pd.Series, list[str]]:
    """Rank the methods over the data sets that all of them have.

    Methods with the fewest data sets are left out, to keep as many runs as possible. Without two
    such data sets, the ranks are those on one of them.

    Returns:
        Mean ranks by method, best first, and the data sets.
    """
    scores = rows[rows["note"] == ""].pivot(index="dataset", columns="method", values="mean")
    present = scores.notna()
    largest = present.sum(axis=1).idxmax()  # the data set with the most methods
    block = largest_block(present) or ([largest], list(scores.columns[present.loc[largest]]))
    ranked = scores.loc[list(block[0]), list(block[1])]
    return rank_scores(ranked, metric).mean_ranks, list(block[0])


def best_on(rows: pd.DataFrame) -> pd.Series:
    """Return on how many data sets a method is not significantly worse than the best ranked one."""
    ranked = rows[rows["note"] == ""]
    return (ranked["outcome"] != "worse").groupby(ranked["method"]).sum()


def ranks_and_times(track: Track) -> pd.DataFrame | None:
    """Return columns `rank` and `ratio` of the ranked methods; None for too few methods."""
    rows = track.tables[PARETO_METRIC.key]
    ranks, over = mean_ranks(rows, PARETO_METRIC)
    own = rows[(rows["note"] == "") & rows["dataset"].isin(over)]
    ratios = np.exp(np.log(own["ratio"]).groupby(own["method"]).mean())
    points = pd.DataFrame({"rank": ranks, "ratio": ratios}).dropna()
    return points if len(points) >= MIN_POINTS else None


def as_json(found: list[Track]) -> dict[str, Any]:
    """Return all numbers, for other programs; missing ones are null."""
    columns = ["run", "method", "dataset", "mean", "stderr", "splits", "rank", "difference",
               "low", "high", "detectable", "p_holm", "outcome", "ratio", "tuning",
               "note"]  # fmt: skip
    return {
        "tracks": {
            track.name: {
                key: [
                    {name: None if pd.isna(value) else value for name, value in row.items()}
                    for row in rows.reset_index()[columns].to_dict("records")
                ]
                for key, rows in track.tables.items()
            }
            for track in found
        },
    }
