"""Calibration of many runs, averaged over their splits."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.section import Section
from bnnbench.report.split_page import read_held_out, read_points
from bnnbench.results.calibration import QUALITIES, RECALIBRATED, calibration_table
from bnnbench.results.tables import labels, markdown_table, plus_minus, record, runs_below

COLUMNS = (
    "Method",
    "Calibration error",
    *("… " + name for name in RECALIBRATED.values()),
    "50 % holds",
    "90 % holds",
    "95 % holds",
    "90 % width",
    "… " + RECALIBRATED["isotonic"],
)
"""Column names of `calibration_rows`."""

CALIBRATION_STATEMENT = (
    "Calibration error: mean over 19 credible levels of the absolute difference between a level "
    "and the share of test targets inside its central interval, 0 is best. An honest interval of "
    "50, 90 or 95 % holds that share; among calibrated predictions the narrower (width, in the "
    "target's unit) is the better. Recalibration is learned on out-of-fold predictions of each "
    "split's training part and tested on its test part. The predictive density is taken as a "
    "Gaussian of the total variance; mean ± standard error over splits."
)


def calibration_of(run: RunFolder) -> pd.DataFrame:
    """`calibration_table` of one run, from its saved predictions."""
    return calibration_table(read_points(run), read_held_out(run))


def gather_calibration(path: Path) -> pd.DataFrame:
    """A row per finished run with predictions and recalibration, ordered as `gather` orders.

    Columns: those that name the run (see `gather`), `recalibration`, and for each of `QUALITIES`
    its `<quality>_mean` and `<quality>_stderr` over the splits that did not diverge.
    """
    rows = []
    for run in runs_below(path):
        if not run.predictions.is_file():
            continue
        names = {k: v for k, v in record(run).items() if not k.endswith(("_mean", "std", "stderr"))}
        for recalibration, group in calibration_of(run).groupby("recalibration", sort=False):
            scores = group[list(QUALITIES)]
            means, errors = scores.mean(), scores.std(ddof=1) / math.sqrt(len(scores))
            row = {**names, "recalibration": recalibration}
            for quality in QUALITIES:
                row |= {f"{quality}_mean": means[quality], f"{quality}_stderr": errors[quality]}
            rows.append(row)
    table = pd.DataFrame(rows)
    order = ["dataset", "method", "experiment", "variant"]
    return table.sort_values(order, ignore_index=True, kind="stable") if rows else table


def calibration_rows(table: pd.DataFrame) -> dict[str, list[tuple[str, ...]]]:
    """By data set, the printed cells of each run under `COLUMNS`.

    Args:
        table: what `gather_calibration` returns.
    """
    keys = ["dataset", "method", "experiment", "variant"]
    plain = table[table["recalibration"] == "none"].reset_index(drop=True)
    groups: dict[str, list[tuple[str, ...]]] = {}
    for label, run in zip(labels(plain), plain.to_dict("records"), strict=True):
        own = table[(table[keys] == pd.Series({k: run[k] for k in keys})).all(axis=1)]
        by = own.set_index("recalibration")

        def cell(quality: str, name: str = "none", by: pd.DataFrame = by) -> str:
            if name not in by.index:
                return plus_minus(math.nan, math.nan)
            return plus_minus(by.loc[name, f"{quality}_mean"], by.loc[name, f"{quality}_stderr"])

        cells = (
            label,
            cell("calibration_error"),
            *(cell("calibration_error", name) for name in RECALIBRATED),
            *(cell(f"coverage_{level}") for level in (50, 90, 95)),
            cell("width_90"),
            cell("width_90", "isotonic"),
        )
        groups.setdefault(str(run["dataset"]), []).append(cells)
    return groups


def calibration_section(path: Path) -> Section | None:
    """Coverage, calibration error and sharpness of every run at or below `path`."""
    table = gather_calibration(path)
    if table.empty:
        return None
    parts = ["## Calibration", CALIBRATION_STATEMENT]
    for dataset, rows in calibration_rows(table).items():
        parts += [f"### {dataset}", markdown_table(COLUMNS, rows)]
    parts.append("At full precision: [calibration.csv](calibration.csv).")
    return Section(parts, {"calibration": table})
