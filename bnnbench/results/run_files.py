"""Read the result files of a run on splits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from bnnbench.experiment import split_files
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import READ_ERRORS, check_archive, raise_disk_error
from bnnbench.notes import one_line
from bnnbench.results.metrics import METRICS
from bnnbench.types import UserError

CALIBRATION = "calibration"
"""Table that the run's page adds: `calibration.calibration_table`."""

POINT_COLUMNS = ("split", "target", "mean", "epistemic_variance", "noise_variance")

FOLD = "fold"
"""Column of the out-of-fold predictions of runs that saved `folds.npz`."""

TEXT_COLUMNS = ("at_bound", "fingerprint", "training_fingerprint", "bits")
"""Text columns of `splits.csv`: search bounds that were hit, and fingerprint of the test rows."""

SIZE_COLUMNS = ("training_rows", "test_rows")

NUMERIC_COLUMNS = ("split", *SIZE_COLUMNS, "diverged", *(metric.key for metric in METRICS))
"""Numeric columns that every `splits.csv` has."""

ARRAY_COLUMNS = {
    split_files.PREDICTIONS: POINT_COLUMNS,
    split_files.OUT_OF_FOLD: POINT_COLUMNS,
    split_files.FOLDS: ("split", "row"),
    split_files.TRAINING: ("split", "target"),
    split_files.DIAGNOSIS: ("split",),
    split_files.OBJECTIVE: ("split", "epoch", "loss", "complexity"),
}
"""Minimum columns of the array files."""


def read_splits(folder: RunFolder) -> pd.DataFrame:
    """Read `splits.csv`, one row per split.

    Raises:
        UserError: if the file is missing or damaged.
    """
    path, problem = folder.table(split_files.SPLITS), "is missing or not a table of splits"
    return read_table(path, NUMERIC_COLUMNS, TEXT_COLUMNS, problem).fillna({"at_bound": ""})


def read_table(
    path: Path,
    numeric: Iterable[str],
    text: Iterable[str] = (),
    problem: str = "is damaged",
    optional: bool = False,
) -> pd.DataFrame:
    """Read a CSV file that has rows and these columns.

    Args:
        path: of the file.
        numeric: columns with numbers.
        text: columns with text, in which pandas would read the word "None" as missing.
        problem: of a file without them, for the message.
        optional: whether a missing or empty file gives an empty table.

    Raises:
        UserError: if it is no such table.
    """
    try:
        table = pd.read_csv(path, dtype=dict.fromkeys(text, object)).rename(columns=one_line)
    except (OSError, ValueError) as error:
        raise_disk_error(error)
        if optional and isinstance(error, FileNotFoundError | pd.errors.EmptyDataError):
            return pd.DataFrame()
        table = pd.DataFrame()
    if len(table) and {*text} <= {*table} and has_numeric_columns(table, numeric):
        return table
    raise damaged_file_error(path, problem)


def damaged_file_error(path: Path, problem: str = "is damaged") -> UserError:
    """Return the error for a damaged file of a finished run."""
    return UserError(
        f"{path} {problem} although the run is marked DONE; run the same experiment again to "
        "rewrite it.",
        setting=path.name,
        code="damaged",
    )


def has_numeric_columns(table: pd.DataFrame, columns: Iterable[str]) -> bool:
    """Return whether the table has these columns and all are numeric."""
    return all(
        name in table and pd.api.types.is_numeric_dtype(table[name].dtype) for name in columns
    )


def read_search(folder: RunFolder) -> pd.DataFrame:
    """Read `search.csv`; empty if nothing was searched.

    Raises:
        UserError: if the file is damaged.
    """
    return read_table(
        folder.table(split_files.SEARCH), ("split", "iteration", "objective"), optional=True
    )


def read_arrays(folder: RunFolder, name: str) -> pd.DataFrame | None:
    """Read the flat arrays of one file as columns; None if the run did not save them.

    Raises:
        UserError: if the file is damaged.
    """
    path = folder.arrays(name)
    try:
        check_archive(path)
        with np.load(path) as arrays:
            table = pd.DataFrame({key: arrays[key] for key in arrays.files})
    except FileNotFoundError:
        return None
    except READ_ERRORS as error:
        raise_disk_error(error)
        raise damaged_file_error(path) from None
    if not has_numeric_columns(table, ARRAY_COLUMNS[name]):
        raise damaged_file_error(path)
    return table


def read_predictions(folder: RunFolder) -> pd.DataFrame | None:
    """Read the predictions, one row per test point, original units."""
    return read_arrays(folder, split_files.PREDICTIONS)


def read_test_points(folder: RunFolder, splits: pd.DataFrame) -> pd.DataFrame | None:
    """Read the predictions of those of the splits that did not diverge, if they were saved."""
    points = read_predictions(folder)
    valid = splits.loc[splits["diverged"] == 0, "split"]
    return None if points is None else points[points["split"].isin(valid)]


def read_out_of_fold(folder: RunFolder) -> pd.DataFrame | None:
    """Read the out-of-fold predictions of the training points, without diverged folds."""
    points = read_arrays(folder, split_files.OUT_OF_FOLD)
    if points is None:
        return None
    return points[[name for name in (*POINT_COLUMNS, FOLD) if name in points]].dropna()


def read_training_points(folder: RunFolder) -> pd.DataFrame | None:
    """Read `split`, `input` and `target` of the training points of a run with one input."""
    for name in (split_files.TRAINING, split_files.OUT_OF_FOLD):
        points = read_arrays(folder, name)
        if points is not None:
            return points[["split", "input", "target"]]
    return None


def read_objective(folder: RunFolder) -> pd.DataFrame | None:
    """Read `split`, `epoch`, `loss`, `complexity` and their sum `objective`, if saved."""
    table = read_arrays(folder, split_files.OBJECTIVE)
    return None if table is None else table.assign(objective=table["loss"] + table["complexity"])


def read_calibration(folder: RunFolder) -> pd.DataFrame | None:
    """Read the calibration table of the run's page, by recalibration and split.

    Raises:
        UserError: if the file is damaged.
    """
    path = folder.table(CALIBRATION)
    if not path.exists():
        return None
    table = read_table(path, ("split", "calibration_error"), ("recalibration",))
    if not path.read_bytes().endswith(b"\n"):  # truncated
        raise damaged_file_error(path)
    return table
