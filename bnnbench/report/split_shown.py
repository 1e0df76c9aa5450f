"""What a run on splits shows in the page of a report: its splits, search and predictions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.search import best_so_far
from bnnbench.report.numbers import unit_of
from bnnbench.report.section import Table, numbers
from bnnbench.report.shown import Chart, Series, Shown
from bnnbench.report.split_table import notes_of, scores_table
from bnnbench.results.calibration import total_deviation
from bnnbench.results.metrics import BY_KEY, DIAGNOSTIC, METRICS, heading_of
from bnnbench.results.reader import Runs
from bnnbench.results.run_files import kept_points, read_predictions, read_search
from bnnbench.types import UserError

POINTS = 150
"""Of the predictions, evenly among all, so that hundreds of runs fit into a page."""

COLUMNS = ("split", *(metric.key for metric in METRICS), "total_seconds", "diverged")


def shown_of(
    row: dict[str, Any], splits: pd.DataFrame, folder: RunFolder, with_charts: bool = True
) -> Shown:
    """What one run shows.

    Args:
        row: of `Runs.scored`.
        splits: its rows of `splits.csv`.
        folder: where its files lie.
        with_charts: not on a page that has the run's figures.
    """
    # Diagnostics of other methods are columns of all rows that are read together.
    own = {
        key: value
        for key, value in row.items()
        if not (key.startswith(DIAGNOSTIC) and math.isnan(row[f"{_stem(key)}_mean"]))
    }
    charts, notes = [], notes_of(row, splits)
    drawn = (partial(search_chart, folder), partial(predictions_chart, row, splits, folder))
    for draw in drawn if with_charts else ():
        try:
            charts.append(draw())
        except UserError as damaged:  # its scores are whole, and stand in the report
            notes.append(str(damaged))
    shown = tuple(chart for chart in charts if chart)
    return Shown(scores_table(own), tuple(notes), (splits_table(splits),), shown)


def splits_table(splits: pd.DataFrame) -> Table:
    """Scores of each split, what the search chose, diagnostics and seconds."""
    chosen = [name for name in map(str, splits) if name.startswith(("hp.", DIAGNOSTIC))]
    known = [name for name in (*COLUMNS, *chosen) if name in splits]
    numeric = splits[known].astype(float).to_numpy()
    there = ~np.isnan(numeric).all(0)
    columns, cells = list(compress(known, there)), numeric[:, there]
    rows = tuple(tuple(f"{value:.4g}" for value in row) for row in cells.tolist())
    heads = (heading_of(name) if name in BY_KEY else _spoken(name) for name in columns)
    return Table(numbers(*heads), rows, title="Splits")


def _stem(column: str) -> str:
    """The metric of a column `<metric>_mean`, `<metric>_std` or `<metric>_stderr`."""
    return column.rpartition("_")[0]


def _spoken(column: str) -> str:
    return column.removeprefix("hp.").removeprefix(DIAGNOSTIC).replace("_", " ")


def search_chart(folder: RunFolder) -> Chart | None:
    """The best objective so far by evaluation, median over splits; None without a search."""
    search = read_search(folder)
    if not len(search):
        return None
    best = best_so_far(search)
    median, low, high = (best.quantile(q, axis=1).to_numpy() for q in (0.5, 0.1, 0.9))
    x = tuple(best.index.tolist())
    series = tuple(
        Series(name, x, tuple(y.tolist()), joined=True)
        for name, y in (("median over splits", median), ("10 %", low), ("90 %", high))
    )
    return Chart("Search: best so far", "evaluation", "validation log-likelihood", series)


def predictions_chart(row: dict[str, Any], splits: pd.DataFrame, folder: RunFolder) -> Chart | None:
    """Test targets against their predictions; None where these were not kept."""
    points = read_predictions(folder)
    if points is None:
        return None
    points = kept_points(points, splits)
    if not len(points):
        return None
    some = points.iloc[np.unique(np.linspace(0, len(points) - 1, POINTS).round().astype(int))]
    series = Series(
        "mean ± total standard deviation",
        tuple(some["target"].tolist()),
        tuple(some["mean"].tolist()),
        tuple(total_deviation(some).tolist()),
    )
    title = f"Predictions of {len(some)} of {len(points)} test points"
    unit = unit_of(str(row["target"]))
    return Chart(title, f"target{unit}", f"prediction{unit}", (series,), diagonal=True)


def shown_runs(runs: Runs, with_charts: bool) -> Iterator[tuple[str, Shown]]:
    """What every run on splits shows, by digest."""
    rows = runs.scored.to_dict("index")
    for name, splits in runs.splits.groupby("run", sort=False):
        yield str(name), shown_of(rows[name], splits, runs.folders[str(name)], with_charts)
