"""The page of a run on splits: its summary, its figures, its table and what a report shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.record import read_record
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import KIND
from bnnbench.files import write_text
from bnnbench.report.figures.curves import curves_figure
from bnnbench.report.figures.mixing import mixing_figure, mixing_is_told
from bnnbench.report.figures.objective import objective_figure
from bnnbench.report.figures.predictions import predictions_figure
from bnnbench.report.figures.reliability import reliability_figure
from bnnbench.report.figures.scores_by_split import splits_figure
from bnnbench.report.figures.search import search_figure
from bnnbench.report.page import Drawings, Page
from bnnbench.report.split_shown import shown_runs
from bnnbench.report.split_table import run_notes, run_table
from bnnbench.results.calibration import calibration_table
from bnnbench.results.curves import read_curve
from bnnbench.results.labels import full_name
from bnnbench.results.run_files import (
    CALIBRATION,
    kept_points,
    read_diagnosis,
    read_held_out,
    read_objective,
    read_predictions,
    read_search,
    read_splits,
)
from bnnbench.results.summary import summarise

SUMMARY = "summary"
"""Table: every metric over the splits."""


def write_split_page(folder: RunFolder) -> None:
    """Writes `summary.csv` and `calibration.csv` from the run's other files."""
    splits = read_splits(folder)
    write_text(folder.table(SUMMARY), summarise(splits).to_csv(index=False))
    points = points_of(folder, splits)
    if points is not None:
        table = calibration_table(points, read_held_out(folder))
        write_text(folder.table(CALIBRATION), table.to_csv(index=False))


def points_of(folder: RunFolder, splits: pd.DataFrame) -> pd.DataFrame | None:
    """The test points of the splits that count, with their predictions, if these were kept.

    Args:
        folder: of the run.
        splits: of `read_splits`.
    """
    predictions = read_predictions(folder)
    return None if predictions is None else kept_points(predictions, splits)


def split_drawings(folder: RunFolder) -> Drawings:
    """Everything the run's files can show, those first that take longest."""
    names, splits = read_record(folder).names, read_splits(folder)
    target, points = str(names["target"]), points_of(folder, splits)
    name = full_name(names)
    found: dict[str, Callable[[], Figure]] = {}
    search = read_search(folder)
    if len(search):
        found["search"] = partial(search_figure, search, int(names["initial_points"]), name)
    found["splits"] = partial(splits_figure, splits, target, name)
    if points is not None:
        found["predictions"] = partial(predictions_figure, points, target, name)
        found["calibration"] = partial(reliability_figure, points, read_held_out(folder), name)
    curve = read_curve(folder, names)
    if curve:
        found["curve"] = partial(curves_figure, [curve], name)
    diagnosis = read_diagnosis(folder)
    if diagnosis is not None and mixing_is_told(diagnosis):
        found["mixing"] = partial(mixing_figure, diagnosis, name)
    objective = read_objective(folder)
    if objective is not None:
        found["objective"] = partial(objective_figure, objective, name)
    return found


PAGE = Page(
    KIND, write_split_page, run_table, run_notes, (CALIBRATION,), split_drawings, shown_runs
)
