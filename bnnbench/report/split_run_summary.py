"""Summaries of runs on train/test splits, for the run pages of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.blocks import Table, number_columns
from bnnbench.report.figures.search import best_so_far
from bnnbench.report.formatting import unit_suffix
from bnnbench.report.run_page import Chart, RunSummary, Series
from bnnbench.report.split_run_table import notes_of, scores_table
from bnnbench.results.calibration import total_deviation
from bnnbench.results.metrics import BY_KEY, DIAGNOSTIC, METRICS, heading_of
from bnnbench.results.reader import Runs
from bnnbench.results.run_files import exclude_diverged, read_predictions, read_search
from bnnbench.types import UserError

MAX_POINTS = 150
"""Predictions per chart, evenly spaced among all, so that a page can hold hundreds of runs."""

SPLIT_COLUMNS = ("split", *(metric.key for metric in METRICS), "total_seconds", "diverged")


def summarise_run(
    row: dict[str, Any], splits: pd.DataFrame, folder: RunFolder, with_charts: bool = True
) -> RunSummary:
    """Summarise one run.

    Pages with the run's own figures need no charts.
    """
    # The row has columns for the diagnostics of all methods in the report.
    other = {
        key.removesuffix("_mean")
        for key, value in row.items()
        if key.startswith(DIAGNOSTIC) and key.endswith("_mean") and math.isnan(value)
    }
    own = {key: value for key, value in row.items() if key.rpartition("_")[0] not in other}
    charts, notes = [], notes_of(row, splits)
    functions = (partial(search_chart, folder), partial(predictions_chart, row, splits, folder))
    for function in functions if with_charts else ():
        try:
            charts.append(function())
        except UserError as error:  # a file of the chart is damaged; the scores are valid
            notes.append(str(error))
    present = tuple(chart for chart in charts if chart)
    return RunSummary(scores_table(own), tuple(notes), (splits_table(splits),), present)


def splits_table(splits: pd.DataFrame) -> Table:
    """Scores, hyper-parameters, diagnostics and seconds of each split, without empty columns."""
    extra = [name for name in map(str, splits) if name.startswith(("hp.", DIAGNOSTIC))]
    names = [name for name in (*SPLIT_COLUMNS, *extra) if name in splits]
    values = splits[names].astype(float).to_numpy()
    present = ~np.isnan(values).all(0)
    columns, cells = list(compress(names, present)), values[:, present]
    rows = tuple(tuple(f"{value:.4g}" for value in row) for row in cells.tolist())
    headings = (
        heading_of(name)
        if name in BY_KEY
        else name.removeprefix("hp.").removeprefix(DIAGNOSTIC).replace("_", " ")
        for name in columns
    )
    return Table(number_columns(*headings), rows, title="Splits")


def search_chart(folder: RunFolder) -> Chart | None:
    """Best objective after each evaluation, with quantiles over splits; None without a search."""
    search = read_search(folder)
    if not len(search):
        return None
    best = best_so_far(search)
    x = tuple(best.index.tolist())
    quantiles = {"median over splits": 0.5, "10 % quantile": 0.1, "90 % quantile": 0.9}
    series = tuple(
        Series(name, x, tuple(best.quantile(q, axis=1).tolist()), joined=True)
        for name, q in quantiles.items()
    )
    return Chart("Search: best objective so far", "evaluation", "validation log-likelihood", series)


def predictions_chart(row: dict[str, Any], splits: pd.DataFrame, folder: RunFolder) -> Chart | None:
    """Predictions against test targets, if predictions were saved."""
    points = read_predictions(folder)
    if points is None:
        return None
    points = exclude_diverged(points, splits)
    if not len(points):
        return None
    places = np.linspace(0, len(points) - 1, MAX_POINTS).round().astype(int)
    sample = points.iloc[np.unique(places)]
    series = Series(
        "points and bars: mean ± total standard deviation",
        tuple(sample["target"].tolist()),
        tuple(sample["mean"].tolist()),
        tuple(total_deviation(sample).tolist()),
    )
    title = f"Predictions for {len(sample)} of {len(points)} test points"
    unit = unit_suffix(str(row["target"]))
    return Chart(title, f"target{unit}", f"prediction{unit}", (series,), diagonal=True)


def summarise_runs(runs: Runs, with_charts: bool) -> Iterator[tuple[str, RunSummary]]:
    """Yield the digest and the summary of every run on splits."""
    rows = runs.scored.to_dict("index")
    for name, splits in runs.splits.groupby("run", sort=False):
        yield str(name), summarise_run(rows[name], splits, runs.folders[str(name)], with_charts)
