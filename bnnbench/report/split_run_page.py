"""Presentation of runs on train/test splits: tables, notes, figures and charts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import DIAGNOSIS, DIAGNOSTIC, KIND
from bnnbench.portable_math import total_deviation
from bnnbench.report import blocks
from bnnbench.report.figures.split_run import (
    best_so_far,
    has_mixing_data,
    mixing_figure,
    predictions_figure,
    reliability_figure,
    search_figure,
    splits_figure,
)
from bnnbench.report.run_page import Chart, FigureFunctions, RunPage, RunSummary, Series
from bnnbench.report.sections import curves
from bnnbench.report.sections.objective import objective_figure
from bnnbench.results.compare.published_scores import run_z_score
from bnnbench.results.metric_table import BY_KEY, METRICS, heading_of
from bnnbench.results.published.values import counterpart, difference
from bnnbench.results.read import run_files
from bnnbench.results.read.labels import difference_mark, full_name
from bnnbench.results.read.run_files import read_search, read_splits, read_test_points
from bnnbench.results.read.run_tables import Runs, run_row
from bnnbench.results.read.split_means import STATISTICS, summarise
from bnnbench.results.score.curves import read_curve
from bnnbench.results.score.run_notes import (
    CONVERGENCE,
    impossible_intervals,
    run_coverage_note,
    unconverged_splits,
)
from bnnbench.types import UserError

Z_STATEMENT = (
    "z = (ours - published) / combined standard error. If both use the same splits, z is "
    "conservative because the difficulty of a split contributes to both standard errors."
)


def run_table(folder: RunFolder) -> blocks.TableBlock:
    """The run's results, next to published values where there are any."""
    splits = read_splits(folder)
    summary = summarise(splits).to_dict("records")
    scores = {f"{row['metric']}_{name}": row[name] for row in summary for name in STATISTICS}
    return scores_table({**run_row(folder, splits), **scores})


def scores_table(run: Mapping[str, Any]) -> blocks.TableBlock:
    """The results table of a run."""
    several, unit = run["splits"] > 1, blocks.unit_suffix(str(run["target"]))
    rows = []
    for key in (str(name)[: -len("_mean")] for name in run if str(name).endswith("_mean")):
        in_target = key in BY_KEY and BY_KEY[key].unit == "target"
        rows.append({
            "metric": heading_of(key) + unit * in_target,
            "score": blocks.plus_minus(run[f"{key}_mean"], run[f"{key}_stderr"]),
            "std": blocks.two_digits(run[f"{key}_std"]),
            **published_cells(run, key),
        })  # fmt: skip
    ours = {"mean ± stderr": "{score}", "std": "{std}"} if several else {"value": "{score}", "": ""}
    columns = blocks.columns({"metric": "{metric}"}, ours)
    if any(row["published"] for row in rows):
        theirs = {"published": "{published}", "z": "{z}"}
        columns += blocks.columns({}, theirs, {"source": "{source}"})
    scores = blocks.describe_scores([run["splits"]])
    return blocks.fill(
        columns,
        rows,
        title=f"{run['dataset']}, {run['method']}" + difference_mark(run["settings_differ"]),
        caption=scores + "; std = standard deviation over splits" * several,
    )


def published_cells(run: Mapping[str, Any], key: str) -> dict[str, str]:
    """Cells with a published value, z and the source; empty if there is none."""
    theirs = counterpart(run, key)
    if theirs is None:
        return {"published": "", "z": "", "source": ""}
    return {
        "published": blocks.plus_minus(theirs.mean, theirs.stderr),
        "z": blocks.format_z(run_z_score(run, key, theirs)),
        # The conditions in parentheses are listed in results.csv.
        "source": theirs.source.partition(" (")[0],
    }


def run_notes(folder: RunFolder) -> list[str]:
    """Notes on a run: diverged splits, values at a search bound, the meaning of z."""
    splits = read_splits(folder)
    return notes_of(run_row(folder, splits), splits, run_files.calibration_of(folder), folder)


def notes_of(
    run: Mapping[str, Any],
    splits: pd.DataFrame,
    calibration: pd.DataFrame | None,
    folder: RunFolder,
) -> list[str]:
    """Notes on a run."""
    notes = []
    lost = splits.loc[splits["diverged"] != 0, "split"].tolist()
    if lost:
        which = ", ".join(map(str, lost))
        notes.append(
            f"{len(lost)} of {len(splits)} splits diverged (split {which}) and are excluded from "
            "means and standard errors."
        )
    unconverged = unconverged_splits(splits)
    if unconverged:
        notes.append(
            f"The chains have not converged in {len(unconverged)} of {len(splits)} splits; "
            f"convergence requires {CONVERGENCE}. Run them for longer (training.final_epochs)."
        )
    added = int((splits.get(RESIDUAL_VARIANCE, pd.Series(dtype=float)) > 0).sum())
    if added:
        notes.append(
            f"The regressor's standard deviations were too small for held-out rows in {added} of "
            f"{len(splits)} splits, where the noise includes the missing variance."
        )
    if note := run_coverage_note(calibration, run["settings"]):
        notes.append(note)
    notes += impossible_intervals(run, splits, folder)
    edges = Counter(name for cell in splits["at_bound"] for name in re.findall(r"[\w.]+", cell))
    for name, count in sorted(edges.items()):
        notes.append(
            f"The chosen {name} is at a search bound in {count} of {len(splits)} splits; wider "
            "bounds might improve the scores."
        )
    return [*notes, *published_notes(run)]


def published_notes(run: Mapping[str, Any]) -> list[str]:
    """Notes on differences from the published settings and on the meaning of z."""
    values = [value for metric in METRICS if (value := counterpart(run, metric.key))]
    sources = {value.method: value.source.partition(" (")[0] for value in values}
    differences = {source: difference(run, method) for method, source in sources.items()}
    notes = [Z_STATEMENT] if any(one.comparable for one in differences.values()) else []
    notes += [
        f"The settings of {source} were not published, so its values are for orientation only and "
        "z is omitted."
        for source, one in differences.items()
        if not one.known
    ]
    return notes + [
        f"Settings that differ from {source}: {one.description}"
        + ("." if one.comparable else "; z is omitted.")
        for source, one in differences.items()
        if one.description and one.known
    ]


RESIDUAL_VARIANCE = f"{DIAGNOSTIC}residual_variance"
"""Diagnostic of `method=sklearn`."""

MAX_POINTS = 150
"""Predictions per chart, evenly spaced among all, so that a page can hold hundreds of runs."""

SPLIT_COLUMNS = ("split", *(metric.key for metric in METRICS), "total_seconds", "diverged")


def summarise_runs(runs: Runs, with_charts: bool) -> Iterator[tuple[str, RunSummary]]:
    """Yield the digest and the summary of every run on splits."""
    rows = runs.scored.to_dict("index")
    for name, splits in runs.splits.groupby("run", sort=False):
        run, row, folder = str(name), rows[name], runs.folders[str(name)]
        notes = notes_of(row, splits, runs.calibrations.get(run), folder)
        functions = (partial(search_chart, folder), partial(predictions_chart, row, splits, folder))
        charts = []
        for function in functions if with_charts else ():
            try:
                charts.append(function())
            except UserError as error:  # a file of the chart is damaged; the scores are valid
                notes.append(str(error))
        present = tuple(chart for chart in charts if chart)
        table = scores_table(without_absent(row))
        yield run, RunSummary(table, tuple(notes), (splits_table(splits),), present)


def without_absent(run: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the row of a run without the diagnostics of other methods in the report."""
    other = {
        key.removesuffix("_mean")
        for key, value in run.items()
        if key.startswith(DIAGNOSTIC) and key.endswith("_mean") and math.isnan(value)
    }
    return {key: value for key, value in run.items() if key.rpartition("_")[0] not in other}


def splits_table(splits: pd.DataFrame) -> blocks.TableBlock:
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
    return blocks.TableBlock(blocks.number_columns(*headings), rows, title="Splits")


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
    points = read_test_points(folder, splits)
    if points is None or points.empty:
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
    unit = blocks.unit_suffix(str(row["target"]))
    return Chart(title, f"target{unit}", f"prediction{unit}", (series,), diagonal=True)


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
    "curve": curves.CAPTION,
    "mixing": "Distribution over test points of R-hat (grey: each split, blue: all splits) and of "
    "the effective sample size; orange lines: convergence limit",
    "objective": "Objective of each split (grey), and medians over splits of the objective and its "
    "two terms",
}
"""Captions of the figures, by name."""


def figure_functions(folder: RunFolder) -> FigureFunctions:
    """The figures that can be drawn from the run's files, the slowest first."""
    names, splits = read_record(folder).metadata, read_splits(folder)
    target, points = str(names["target"]), read_test_points(folder, splits)
    name = full_name(names)
    figures: dict[str, Callable[[], Figure]] = {}
    search = read_search(folder)
    if len(search):
        figures["search"] = partial(search_figure, search, int(names["initial_points"]), name)
    figures["splits"] = partial(splits_figure, splits, target, name)
    if points is not None:
        figures["predictions"] = partial(predictions_figure, points, target, name)
        figures["calibration"] = partial(
            reliability_figure, points, run_files.read_out_of_fold(folder), name
        )
        if {"input", "truth"} <= {*points} and (curve := read_curve(folder, names)):
            figures["curve"] = partial(curves.curves_figure, [curve], name)
    diagnosis = run_files.read_columns(folder, DIAGNOSIS)
    if diagnosis is not None and has_mixing_data(diagnosis):
        figures["mixing"] = partial(mixing_figure, diagnosis, name)
    objective = run_files.read_objective(folder)
    if objective is not None:
        figures["objective"] = partial(objective_figure, objective, name)
    return figures


SPLIT_RUN_PAGE = RunPage(
    KIND,
    run_table,
    run_notes,
    figures=figure_functions,
    captions=CAPTIONS,
    summarise=summarise_runs,
)
