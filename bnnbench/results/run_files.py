"""What one run on splits left, file by file; which file is which only the experiment knows."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import (
    DIAGNOSIS,
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

TEXTS = ("at_bound", "fingerprint")
"""Columns of words in `splits.csv`: bounds met by the search, and which rows are tested."""

SIZES = ("training_rows", "test_rows")

NUMBERS = ("split", *SIZES, "diverged", *(metric.key for metric in METRICS))
"""Columns of numbers in `splits.csv` that every run has."""

ARRAYS = {
    PREDICTIONS: POINT_COLUMNS,
    OUT_OF_FOLD: POINT_COLUMNS,
    TRAINING: ("split", "target"),
    DIAGNOSIS: ("split",),
    OBJECTIVE: ("split", "epoch", "loss", "complexity"),
}
"""What the files of arrays hold at the least."""

BROKEN = (OSError, ValueError, KeyError, AttributeError, EOFError, BadZipFile, zlib.error)
"""What a reader raises of a file that is not what its name says."""


def read_splits(folder: RunFolder) -> pd.DataFrame:
    """The rows of `splits.csv`, one per split.

    Raises:
        UserError: if the file is missing, empty or not such a table, or of an earlier version.
    """
    path = folder.table(SPLITS)
    try:
        # pandas reads an empty cell, and the word "None", as a missing number.
        splits = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, object))
        if len(splits) and {*TEXTS} <= {*splits} and holds(splits, NUMBERS):
            return splits.fillna({"at_bound": ""})
        before = [name for name in NUMBERS if name != "test_rows"]
        if holds(splits, before) and "fingerprint" not in splits:
            raise UserError(
                f"{path} does not say which rows its splits test, since an earlier version wrote "
                "it; run the same experiment again with --force."
            )
    except (OSError, ValueError):
        pass
    raise damaged(path, "is missing or not a table of splits")


def damaged(path: Path, what: str = "is damaged") -> UserError:
    """The sentence on a file of a run that is marked as complete."""
    return UserError(
        f"{path} {what} although the run is marked DONE; run the same experiment again, which "
        "writes it anew."
    )


def holds(table: pd.DataFrame, columns: Iterable[str]) -> bool:
    """Whether there are such columns, of numbers."""
    return all(
        name in table and pd.api.types.is_numeric_dtype(table[name].dtype) for name in columns
    )


def read_search(folder: RunFolder) -> pd.DataFrame:
    """The rows of `search.csv`; none where nothing was searched.

    Raises:
        UserError: if the file is damaged.
    """
    path = folder.table(SEARCH)
    try:
        table = pd.read_csv(path)
    except (FileNotFoundError, pd.errors.EmptyDataError):
        return pd.DataFrame()
    except (OSError, ValueError):
        raise damaged(path) from None
    if not holds(table, ("split", "iteration", "objective")):
        raise damaged(path)
    return table


def read_arrays(folder: RunFolder, name: str) -> pd.DataFrame | None:
    """The flat arrays of one file as columns; None where the run was not asked for them.

    Raises:
        UserError: if the file is damaged.
    """
    path = folder.arrays(name)
    try:
        with np.load(path) as arrays:
            table = pd.DataFrame({key: arrays[key] for key in arrays.files})
    except FileNotFoundError:
        return None
    except BROKEN:
        raise damaged(path) from None
    if not holds(table, ARRAYS[name]):
        raise damaged(path)
    return table


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


def read_diagnosis(folder: RunFolder) -> pd.DataFrame | None:
    """One row per test point: what the method says of its prediction there, if it does."""
    return read_arrays(folder, DIAGNOSIS)


def read_calibration(folder: RunFolder) -> pd.DataFrame | None:
    """What the run's page found of its calibration, by recalibration and split.

    Raises:
        UserError: if the file is damaged.
    """
    path = folder.table(CALIBRATION)
    try:
        text = path.read_text()
        table = pd.read_csv(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        text, table = "", pd.DataFrame()
    # One that was cut off has no last line, one that was emptied has none at all.
    whole = text.endswith("\n") and "recalibration" in table
    if not (whole and holds(table, ("split", "calibration_error"))):
        raise damaged(path)
    return table


def kept_points(points: pd.DataFrame, splits: pd.DataFrame) -> pd.DataFrame:
    """The test points of the splits that did not diverge.

    Args:
        points: of `read_predictions`.
        splits: of `read_splits`.
    """
    return points[points["split"].isin(splits.loc[splits["diverged"] == 0, "split"])]
