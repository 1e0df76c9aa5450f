"""Predictions along one input, where the true function is known, and their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.calibration import total_deviation
from bnnbench.results.labels import labels
from bnnbench.results.reader import Runs
from bnnbench.results.run_files import read_predictions, read_training_points

NAMED = ("run", "experiment", "dataset", "method", "divergence", "depth", "variant", "label")


@dataclass(frozen=True)
class Curve:
    """One run on made data with one input.

    Attributes:
        run: the names of its record, with `run` (its digest), `variant` and `label`, its name on
            figures, which leaves the depth to the column of panels.
        grid: by input, the columns `input`, `target`, `truth`, `mean`, `epistemic_variance` and
            `noise_variance` of the test points.
        training: `input` and `target` of the training points; none where the run kept none.
    """

    run: Mapping[str, Any]
    grid: pd.DataFrame
    training: pd.DataFrame

    @property
    def deviation(self) -> np.ndarray:
        """Total predictive standard deviation, by grid point."""
        return total_deviation(self.grid)


def read_curve(folder: RunFolder, names: Mapping[str, Any]) -> Curve | None:
    """The first split's curve; None where there is more than one input or no known function.

    Args:
        folder: of the run.
        names: those in its record.
    """
    if not (names["made"] and names["inputs"] == 1):
        return None
    grid = read_predictions(folder)
    if grid is None:
        return None
    grid = grid[grid["split"] == grid["split"].min()].sort_values("input", ignore_index=True)
    training = read_training_points(folder)
    if training is None:
        training = pd.DataFrame({"split": [], "input": [], "target": []})
    own = training[training["split"] == grid["split"].iloc[0]].drop(columns="split")
    return Curve({"label": names["method"], **names}, grid, own.sort_values("input"))


def curves_of(runs: Runs) -> list[Curve]:
    """The curves of all runs that kept their training points, by size of the training set."""
    table = runs.scored
    if table.empty or not (table["made"] & (table["inputs"] == 1)).any():
        return []
    table = table[table["made"] & (table["inputs"] == 1)]
    table = table.assign(label=labels(table, aside=("depth",)))
    rows = table.reset_index().to_dict("records")
    found = [read_curve(runs.folders[row["run"]], row) for row in rows]
    curves = [curve for curve in found if curve and len(curve.training)]
    order = ("dataset", "depth", "label")
    return sorted(curves, key=lambda c: (len(c.training), *(str(c.run[name]) for name in order)))


def places(curve: Curve) -> dict[str, pd.Series]:
    """Which grid points lie `in` the range of the training inputs, and which well `out` of it."""
    low, high = curve.training["input"].min(), curve.training["input"].max()
    distance = np.maximum(low - curve.grid["input"], curve.grid["input"] - high)
    return {"in": distance <= 0, "out": distance > (high - low) / 4}


def curve_table(curves: Sequence[Curve]) -> pd.DataFrame:
    """One row per run: what names it, and four numbers, each with `_in` and `_out`.

    `rmse` of the predictive mean to the truth, the average `epistemic` and `total` deviations, and
    `coverage_95`, the share of targets inside the central 95 % interval.
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
        row = {name: curve.run[name] for name in NAMED}
        for where, there in places(curve).items():
            means = {name: value[there].mean() for name, value in values.items()}
            means["rmse"] = np.sqrt(means["rmse"])
            row |= {f"{name}_{where}": mean for name, mean in means.items()}
        rows.append(row)
    return pd.DataFrame(rows)
