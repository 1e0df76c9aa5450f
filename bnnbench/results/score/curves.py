"""Predictive curves along one input where the true function is known, and summaries of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.portable_math import total_deviation
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_files import read_predictions, read_training_points
from bnnbench.results.read.run_tables import Runs

METADATA_COLUMNS = (
    "run",
    "experiment",
    "dataset",
    "method",
    "divergence",
    "depth",
    "variant",
    "label",
)


@dataclass(frozen=True)
class Curve:
    """The predictive curve of one run on synthetic data with one input.

    Attributes:
        run: the run's metadata, with `run` (its digest), `variant` and `label` (its name in
            figures, without the depth, which is the column of panels).
        grid: test points sorted by input: `input`, `target`, `truth`, `mean`,
            `epistemic_variance` and `noise_variance`.
        training: `input` and `target` of the training points; empty if the run did not save them.
    """

    run: Mapping[str, Any]
    grid: pd.DataFrame
    training: pd.DataFrame

    @property
    def deviation(self) -> np.ndarray:
        """Total predictive standard deviation at each grid point."""
        return total_deviation(self.grid)


def read_curve(folder: RunFolder, names: Mapping[str, Any]) -> Curve | None:
    """Read the first split's curve; None unless there is one input and the function is known."""
    if not (names["synthetic"] and names["inputs"] == 1):
        return None
    grid = read_predictions(folder)
    if grid is None:
        return None
    grid = grid[grid["split"] == grid["split"].min()].sort_values("input", ignore_index=True)
    training = read_training_points(folder)
    if training is None:
        training = pd.DataFrame({"split": [], "input": [], "target": []})
    points = training[training["split"] == grid["split"].iloc[0]].drop(columns="split")
    return Curve({"label": names["method"], **names}, grid, points.sort_values("input"))


def read_curves(runs: Runs) -> list[Curve]:
    """Read the curves of all runs that saved their training points, by training set size."""
    table = runs.scored
    table = table if table.empty else table[table["synthetic"] & (table["inputs"] == 1)]
    if table.empty:
        return []
    table = table.assign(label=labels(table, ignore=("depth",)))
    rows = table.reset_index().to_dict("records")
    all_curves = [read_curve(runs.folders[row["run"]], row) for row in rows]
    curves = [curve for curve in all_curves if curve and len(curve.training)]
    order = ("dataset", "depth", "label")
    return sorted(curves, key=lambda c: (len(c.training), *(str(c.run[name]) for name in order)))


def range_masks(curve: Curve) -> dict[str, pd.Series]:
    """Return masks of the grid points: `in` the range of training inputs, or well `out` of it."""
    low, high = curve.training["input"].min(), curve.training["input"].max()
    distance = np.maximum(low - curve.grid["input"], curve.grid["input"] - high)
    return {"in": distance <= 0, "out": distance > (high - low) / 4}


def curve_table(curves: Sequence[Curve]) -> pd.DataFrame:
    """Return a row per run: its metadata, and four numbers inside (`_in`) and outside (`_out`).

    `rmse` between predictive mean and truth, mean `epistemic` and `total` standard deviation, and
    `coverage_95`, the fraction of targets inside the central 95 % interval.
    """
    rows = []
    for curve in curves:
        grid, total = curve.grid, curve.deviation
        values = {
            "rmse": (grid["mean"] - grid["truth"]) ** 2,
            "epistemic": np.sqrt(grid["epistemic_variance"]),
            "total": total,
            "coverage_95": (grid["target"] - grid["mean"]).abs() <= 1.96 * total,
        }
        row = {name: curve.run[name] for name in METADATA_COLUMNS}
        for where, mask in range_masks(curve).items():
            means = {name: value[mask].mean() for name, value in values.items()}
            means["rmse"] = np.sqrt(means["rmse"])
            row |= {f"{name}_{where}": mean for name, mean in means.items()}
        rows.append(row)
    return pd.DataFrame(rows)
