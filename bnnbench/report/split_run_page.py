"""Presentation of runs on train/test splits: summary tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder, read_record
from bnnbench.experiment.split_files import KIND
from bnnbench.files import write_text
from bnnbench.report.figures.mixing import has_mixing_data, mixing_figure
from bnnbench.report.figures.predictions import predictions_figure
from bnnbench.report.figures.reliability import reliability_figure
from bnnbench.report.figures.scores_by_split import splits_figure
from bnnbench.report.figures.search import search_figure
from bnnbench.report.run_page import FigureFunctions, RunPage
from bnnbench.report.sections.curves import curves_figure
from bnnbench.report.sections.objective import objective_figure
from bnnbench.report.split_run_summary import summarise_runs
from bnnbench.report.split_run_table import run_notes, run_table
from bnnbench.results import run_files
from bnnbench.results.calibration import calibration_table
from bnnbench.results.curves import read_curve
from bnnbench.results.labels import full_name
from bnnbench.results.summary import summarise

SUMMARY = "summary"
"""Name of the table with every metric averaged over the splits."""

CAPTIONS = {
    "search": "Hyper-parameter search. First panel: best objective of each split (grey), median "
    "and quartiles over splits (blue line and band). Other panels: trials, coloured by objective; "
    "circles: values chosen in one split",
    "splits": "Scores of each split (dots). Diamond and line: mean ± standard error over splits; "
    "crosses: diverged splits",
    "predictions": "Predicted against observed targets. Error bars: ± 1 epistemic (dark) and total "
    "(light) standard deviation, on a subset of points; line: perfect prediction",
    "calibration": "Coverage of credible intervals over all test points; band: quartiles over "
    "splits; dashed line: perfect calibration",
    "curve": "Predictions along the input. Bands: predictive mean ± 2 total (light) and ± 2 "
    "epistemic (dark) standard deviations; dashed line: true function; dots: training data",
    "mixing": "Distribution over test points of R-hat (grey: each split, blue: all splits) and of "
    "the effective sample size; orange lines: convergence limit",
    "objective": "Objective of each split (grey), and medians over splits of the objective and its "
    "two terms",
}
"""Captions of the figures, by name."""


def write_split_tables(folder: RunFolder) -> None:
    """Write `summary.csv` and `calibration.csv`, derived from the run's other files."""
    splits = run_files.read_splits(folder)
    write_text(folder.table(SUMMARY), summarise(splits).to_csv(index=False))
    points = read_test_points(folder, splits)
    if points is not None:
        table = calibration_table(points, run_files.read_out_of_fold(folder))
        write_text(folder.table(run_files.CALIBRATION), table.to_csv(index=False))


def read_test_points(folder: RunFolder, splits: pd.DataFrame) -> pd.DataFrame | None:
    """Test points and predictions of the splits that did not diverge, if predictions were saved."""
    predictions = run_files.read_predictions(folder)
    return None if predictions is None else run_files.exclude_diverged(predictions, splits)


def figure_functions(folder: RunFolder) -> FigureFunctions:
    """The figures that can be drawn from the run's files, the slowest first."""
    names, splits = read_record(folder).metadata, run_files.read_splits(folder)
    target, points = str(names["target"]), read_test_points(folder, splits)
    name = full_name(names)
    figures: dict[str, Callable[[], Figure]] = {}
    search = run_files.read_search(folder)
    if len(search):
        figures["search"] = partial(search_figure, search, int(names["initial_points"]), name)
    figures["splits"] = partial(splits_figure, splits, target, name)
    if points is not None:
        figures["predictions"] = partial(predictions_figure, points, target, name)
        figures["calibration"] = partial(
            reliability_figure, points, run_files.read_out_of_fold(folder), name
        )
    curve = read_curve(folder, names)
    if curve:
        figures["curve"] = partial(curves_figure, [curve], name)
    diagnosis = run_files.read_diagnosis(folder)
    if diagnosis is not None and has_mixing_data(diagnosis):
        figures["mixing"] = partial(mixing_figure, diagnosis, name)
    objective = run_files.read_objective(folder)
    if objective is not None:
        figures["objective"] = partial(objective_figure, objective, name)
    return figures


SPLIT_RUN_PAGE = RunPage(
    KIND,
    write_split_tables,
    run_table,
    run_notes,
    (run_files.CALIBRATION,),
    figure_functions,
    CAPTIONS,
    summarise_runs,
)
