"""What one run on splits left, file by file; which file is which only the experiment knows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import (
    OBJECTIVE,
    OUT_OF_FOLD,
    PREDICTIONS,
    SEARCH,
    SPLITS,
    TRAINING,
)
from bnnbench.results.metrics import METRICS
from bnnbench.types import UserError

CALIBRATION = "calibration"
"""Table that the run's own page adds: rows of `calibration.calibration_table`."""

POINT_COLUMNS = ("split", "target", "mean", "epistemic_variance", "noise_variance")

NEEDED = {"split", "diverged", "at_bound", *(metric.key for metric in METRICS)}


def read_splits(folder: RunFolder) -> pd.DataFrame:
    """The rows of `splits.csv`, one per split.

    Raises:
        UserError: if the file is missing, empty or not such a table.
    """
    path = folder.table(SPLITS)
    try:
        # pandas reads an empty cell, and the word "None", as a missing number.
        splits = pd.read_csv(path, dtype={"at_bound": object})
        if len(splits) and set(splits) >= NEEDED:
            return splits.fillna({"at_bound": ""})
    except (OSError, ValueError):
        pass
    raise UserError(
        f"{path} is missing or not a table of splits although the run is marked "
        f"{folder.done.name}; remove its folder and run the experiment again."
    )


def read_search(folder: RunFolder) -> pd.DataFrame:
    """The rows of `search.csv`; none where nothing was searched."""
    try:
        return pd.read_csv(folder.table(SEARCH))
    except (FileNotFoundError, pd.errors.EmptyDataError):
        return pd.DataFrame()


def read_arrays(folder: RunFolder, name: str) -> pd.DataFrame | None:
    """The flat arrays of one file as columns; None where the run was not asked for them."""
    try:
        with np.load(folder.arrays(name)) as arrays:
            return pd.DataFrame({key: arrays[key] for key in arrays.files})
    except FileNotFoundError:
        return None


def read_predictions(folder: RunFolder) -> pd.DataFrame | None:
    """One row per test point, original units."""
    return read_arrays(folder, PREDICTIONS)


def read_held_out(folder: RunFolder) -> pd.DataFrame | None:
    """One row per training point, predicted out of fold; points of diverged folds are left out."""
    points = read_arrays(folder, OUT_OF_FOLD)
    return None if points is None else points[list(POINT_COLUMNS)].dropna()


def read_training_points(folder: RunFolder) -> pd.DataFrame | None:
    """Every training point of a run with one input: `split`, `input` and `target`."""
    for name in (TRAINING, OUT_OF_FOLD):
        points = read_arrays(folder, name)
        if points is not None:
            return points[["split", "input", "target"]]
    return None


def read_objective(folder: RunFolder) -> pd.DataFrame | None:
    """Rows of `split`, `epoch`, `loss`, `complexity` and their sum `objective`, if it was kept."""
    table = read_arrays(folder, OBJECTIVE)
    return None if table is None else table.assign(objective=table["loss"] + table["complexity"])


def read_calibration(folder: RunFolder) -> pd.DataFrame | None:
    """What the run's page found of its calibration, by recalibration and split."""
    try:
        return pd.read_csv(folder.table(CALIBRATION))
    except FileNotFoundError:
        return None


def kept_points(points: pd.DataFrame, splits: pd.DataFrame) -> pd.DataFrame:
    """The test points of the splits that did not diverge.

    Args:
        points: of `read_predictions`.
        splits: of `read_splits`.
    """
    return points[points["split"].isin(splits.loc[splits["diverged"] == 0, "split"])]
