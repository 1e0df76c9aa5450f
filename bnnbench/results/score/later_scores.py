"""Scores that are computed afterwards from stored predictions, in one pass over all runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import PREDICTIONS
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.conformal import split_intervals
from bnnbench.results.score.proper_scores import split_proper_scores
from bnnbench.results.score.score_cache import cached_scores
from bnnbench.results.score.split_predictions import (
    SplitPredictions,
    prediction_files,
    split_predictions,
)

Rows = dict[str, list[dict[str, Any]]]
"""Rows by name of their table."""

SCORES: Mapping[str, Callable[[SplitPredictions], list[dict[str, Any]]]] = {
    "intervals": split_intervals,
    "proper_scores": split_proper_scores,
}
"""Functions that return rows with the scores of a split, by name of their table."""


def split_scores(runs: Runs) -> dict[str, pd.DataFrame]:
    """Return the tables of `SCORES` over the runs of any kind that saved predictions.

    The first columns of a table are `run`, `experiment`, `dataset`, `family` and `label`. Runs on
    synthetic data are left out, because their test points are a grid.
    """
    rows: Rows = {name: [] for name in SCORES}
    for run, record in _predicted(runs).iterrows():
        columns = {name: record[name] for name in ("experiment", "dataset", "family", "label")}
        for name, own in run_scores(runs.folders[str(run)]).items():
            rows[name] += [{"run": run, **columns, **row} for row in own]
    return {name: pd.DataFrame(own) for name, own in rows.items()}


def run_scores(folder: RunFolder) -> Rows:
    """Return the rows of a run in the tables of `SCORES`, which are computed only once."""

    def compute() -> Rows:
        rows: Rows = {name: [] for name in SCORES}
        for one in split_predictions(folder):
            for name, score in SCORES.items():
                rows[name] += score(one)
        return rows

    return dict(cached_scores(prediction_files(folder), compute))


def _predicted(runs: Runs) -> pd.DataFrame:
    """Return the records of the runs with predictions, with a `label`."""
    found = [
        table.loc[
            [
                run
                for run, synthetic in table["synthetic"].items()
                if not synthetic and runs.folders[str(run)].arrays(PREDICTIONS).exists()
            ]
        ]
        for table in runs.tables.values()
        if "synthetic" in table
    ]
    joined = pd.concat(found) if found else pd.DataFrame()
    return joined.assign(label=labels(joined)) if len(joined) else joined
