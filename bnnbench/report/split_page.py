"""What one finished run reports: its summary, its figures and its table in the terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from omegaconf import OmegaConf
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.report import plotting as figures
from bnnbench.report.predictive_curves import curves_figure, read_curve
from bnnbench.report.training_curves import objective_figure, read_objective
from bnnbench.results.calibration import calibration_table
from bnnbench.results.published import Published, counterpart_of, z_score
from bnnbench.results.tables import (
    COMPARISON_STATEMENT,
    METRICS,
    MISSING,
    metric_name,
    plus_minus,
    read_splits,
    statement,
    summarise,
)

POINT_COLUMNS = ("split", "target", "mean", "epistemic_variance", "noise_variance")


def setting(run: RunFolder, key: str, default: Any) -> Any:
    """A value of the run's configuration, or `default` where it is absent or null."""
    if not run.config.is_file():
        return default
    value = OmegaConf.select(OmegaConf.load(run.config), key)
    return default if value is None else value


def target_name(run: RunFolder) -> str:
    """The target's name with its unit."""
    return str(setting(run, "dataset.target", "target"))


def read_points(run: RunFolder) -> pd.DataFrame:
    """One row per test point of every split that did not diverge, original units."""
    with np.load(run.predictions) as arrays:
        points = pd.DataFrame({name: arrays[name] for name in POINT_COLUMNS})
    splits = read_splits(run)
    return points[points["split"].isin(splits.loc[splits["diverged"] == 0, "split"])]


def read_held_out(run: RunFolder) -> pd.DataFrame | None:
    """One row per training point, out of fold; None where the run kept none.

    Points of folds that diverged are left out.
    """
    if not run.out_of_fold.is_file():
        return None
    with np.load(run.out_of_fold) as arrays:
        points = pd.DataFrame({name: arrays[name] for name in POINT_COLUMNS})
    return points.dropna()


def read_search(run: RunFolder) -> pd.DataFrame:
    """The rows of `search.csv`; none where nothing was searched."""
    try:
        return pd.read_csv(run.search)
    except (FileNotFoundError, pd.errors.EmptyDataError):
        return pd.DataFrame()


def run_figures(run: RunFolder) -> Iterator[tuple[str, Figure]]:
    """Name and figure of everything the run's files can show."""
    target = target_name(run)
    yield "splits", figures.splits_figure(read_splits(run), target)
    if run.predictions.is_file():
        points = read_points(run)
        yield "predictions", figures.predictions_figure(points, target)
        yield "calibration", figures.calibration_figure(points, read_held_out(run))
    curve = read_curve(run)
    if curve:
        yield "curve", curves_figure([curve])
    objective = read_objective(run)
    if objective is not None:
        yield "objective", objective_figure(objective)
    search = read_search(run)
    if len(search):
        yield "search", figures.search_figure(search, setting(run, "search.initial_points", 5))


def write_run_report(run: RunFolder) -> None:
    """Writes `summary.csv`, `calibration.csv` and the figures from the run's other files."""
    write_text(run.summary, summarise(read_splits(run)).to_csv(index=False))
    if run.predictions.is_file():
        table = calibration_table(read_points(run), read_held_out(run))
        write_text(run.calibration, table.to_csv(index=False))
    for name, figure in run_figures(run):
        for suffix in ("png", "pdf"):
            figures.save(figure, run.figure(name, suffix))


def run_table(run: RunFolder) -> Table:
    """The run's results for the terminal, with the published values beside where known."""
    splits = read_splits(run)
    first, several = splits.iloc[0].to_dict(), len(splits) > 1
    unit = figures.unit(target_name(run))
    table = Table(
        title=f"{first['dataset']}, {first['method']}",
        caption=statement([len(splits)]) + "; std = standard deviation over splits" * several,
        box=SIMPLE_HEAD,
        collapse_padding=True,
    )
    table.add_column("metric", min_width=17)
    for name in ("mean ± stderr" if several else "value", "std" if several else ""):
        table.add_column(name, justify="right", no_wrap=True)
    rows = []
    for row in summarise(splits).to_dict("records"):
        metric, mean, error = row["metric"], row["mean"], row["stderr"]
        theirs = counterpart_of(first, metric)
        name = metric_name(metric) + (unit if metric in ("rmse", "crps") else "")
        spread = f"{row['std']:.2g}" if np.isfinite(row["std"]) else MISSING * several
        rows.append((name, plus_minus(mean, error), spread, *_beside(theirs, mean, error)))
    if any(row[3] for row in rows):
        table.add_column("published", justify="right", no_wrap=True)
        table.add_column("z", justify="right", no_wrap=True)
        table.add_column("source", overflow="fold")
    for row in rows:
        # Text, not markup: rich would read "[s]" as a style.
        table.add_row(*map(Text, row[: len(table.columns)]))
    return table


def _beside(theirs: Published | None, mean: float, stderr: float) -> tuple[str, str, str]:
    if theirs is None:
        return "", "", ""
    z = z_score(mean, stderr, theirs.mean, theirs.stderr)
    # The method's name without its conditions, which results.csv spells out.
    source = theirs.source.partition(" (")[0]
    return (
        plus_minus(theirs.mean, theirs.stderr),
        f"{z:+.1f}" if np.isfinite(z) else MISSING,
        source,
    )


def run_notes(run: RunFolder) -> list[str]:
    """What a reader of the numbers must know: lost splits, values on a bound, what z means."""
    splits = read_splits(run)
    first, notes = splits.iloc[0].to_dict(), []
    lost = splits.loc[splits["diverged"] != 0, "split"].tolist()
    if lost:
        which = ", ".join(map(str, lost))
        notes.append(
            f"{len(lost)} of {len(splits)} splits diverged (split {which}); "
            "means and errors leave them out."
        )
    edges = Counter(name for cell in splits["at_bound"] for name in re.findall(r"[\w.]+", cell))
    for name, count in sorted(edges.items()):
        notes.append(
            f"chosen {name} on a search bound in {count} of {len(splits)} splits; "
            "wider bounds might score better."
        )
    if any(counterpart_of(first, metric) for metric in METRICS):
        notes.append(COMPARISON_STATEMENT)
    return notes
