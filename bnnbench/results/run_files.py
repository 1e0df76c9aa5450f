"""Read the files of a run folder, and verify that they are undamaged."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bnnbench import files
from bnnbench.experiment import split_files
from bnnbench.experiment.record import Record, read_record
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import READ_ERRORS, RefusedFile, open_file
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

REQUIRED_METADATA = ("experiment",)
"""Keys in the record of every kind of run."""

REQUIRED_SPLIT_METADATA = (
    "dataset", "method", "family", "divergence", "divergence_family", "order", "weight",
    "likelihood", "loss", "depth", "seed", "inputs", "synthetic", "target", "score_training_rows",
    "initial_points",
)  # fmt: skip


def read_splits(folder: RunFolder) -> pd.DataFrame:
    """Read `splits.csv`, one row per split.

    Raises:
        UserError: if the file is missing or damaged.
    """
    problem = "is missing or not a table of splits"
    table = read_table(folder, split_files.SPLITS, NUMERIC_COLUMNS, TEXT_COLUMNS, problem)
    return table.fillna({"at_bound": ""})


def read_table(
    folder: RunFolder,
    name: str,
    numeric: Iterable[str],
    text: Iterable[str] = (),
    problem: str = "is damaged",
    optional: bool = False,
) -> pd.DataFrame:
    """Read `<name>.csv`, which has rows and these columns.

    Args:
        folder: of the run.
        name: of the table.
        numeric: columns with numbers.
        text: columns with text, in which pandas would read the word "None" as missing.
        problem: of a file without them, for the message.
        optional: whether a missing or empty file gives an empty table.

    Raises:
        UserError: if it is no such table.
    """
    path = folder.table(name)
    try:
        with open_file(path) as file:
            table = pd.read_csv(file, dtype=dict.fromkeys(text, object)).rename(columns=one_line)
    except READ_ERRORS as error:
        if optional and isinstance(error, FileNotFoundError | pd.errors.EmptyDataError):
            return pd.DataFrame(columns=[*text, *numeric])
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
    numbers = ("split", "iteration", "objective")
    return read_table(folder, split_files.SEARCH, numbers, optional=True)


def load_arrays(folder: RunFolder, name: str) -> dict[str, np.ndarray]:
    """Read the arrays of `<name>.npz`.

    Raises:
        UserError: if the file is missing or damaged.
    """
    path = folder.arrays(name)
    try:
        return files.read_arrays(path)
    except READ_ERRORS:
        raise damaged_file_error(path) from None


def read_arrays(folder: RunFolder, name: str) -> pd.DataFrame | None:
    """Read the flat arrays of one file as columns; None if the run did not save them.

    Raises:
        UserError: if the file is damaged.
    """
    if not folder.arrays(name).exists():
        return None
    try:
        table = pd.DataFrame(load_arrays(folder, name))
    except ValueError:  # of unequal lengths
        table = pd.DataFrame()
    if not has_numeric_columns(table, ARRAY_COLUMNS[name]):
        raise damaged_file_error(folder.arrays(name))
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


class VerifiedRun(NamedTuple):
    """A finished run whose files can be read.

    Attributes:
        folder: the run's folder.
        record: its record.
        splits: its `read_splits`; empty for other kinds of run.
        calibration: its calibration table, by recalibration and split; None without predictions.
    """

    folder: RunFolder
    record: Record
    splits: pd.DataFrame
    calibration: pd.DataFrame | None


def read_verified(folder: RunFolder) -> VerifiedRun:
    """Read the files that every report needs, and verify the others.

    Raises:
        UserError: naming the file that is damaged, refused, or not readable by this user.
    """
    try:
        return _read_verified(folder)
    except (RefusedFile, PermissionError) as error:
        text = f"{error.filename} cannot be read: {error.strerror}."
        raise UserError(text, Path(error.filename).name, "unreadable") from None


def _read_verified(folder: RunFolder) -> VerifiedRun:
    record = read_record(folder)
    check_metadata(folder, record)
    done = folder.finished()
    if done is None:
        raise damaged_file_error(folder.done)
    if wrong := folder.damaged(done.files):
        raise damaged_file_error(folder.root / wrong[0])
    if record.kind != split_files.KIND:
        return VerifiedRun(folder, record, pd.DataFrame(), None)
    return VerifiedRun(folder, record, read_splits(folder), calibration_of(folder))


def calibration_of(folder: RunFolder) -> pd.DataFrame | None:
    """Return the calibration table; None without a valid one."""
    try:
        return read_table(
            folder, CALIBRATION, ("split", "calibration_error", "coverage_90"), ("recalibration",)
        )
    except UserError:  # a report recomputes it
        return None


def check_metadata(folder: RunFolder, record: Record) -> None:
    """Raise a `UserError` if a record lacks metadata or settings."""
    needed = {
        *REQUIRED_METADATA,
        *(REQUIRED_SPLIT_METADATA if record.kind == split_files.KIND else ()),
    }
    kinds = str | int | float | None
    if not all(isinstance(value, kinds | list) for value in record.metadata.values()):
        raise damaged_file_error(folder.record)
    if missing := sorted(needed - record.metadata.keys()):
        raise damaged_file_error(folder.record, f"lacks {', '.join(missing)}")
