"""Read the files of a run folder, and verify that they are undamaged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bnnbench.experiment.store import split_files
from bnnbench.experiment.store.record import Record, read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import (
    ARRAY_COLUMNS,
    AT_BOUND,
    DIAGNOSTIC,
    FOLD,
    HYPER,
    LOG_MEAN,
    LOG_VARIANCE,
    POINT_COLUMNS,
    SIZES,
    SPLIT_KEY,
)
from bnnbench.experiment.store.stored_files import (
    COUNTERS,
    DamagedRun,
    check_numeric,
    damaged_file_error,
    read_arrays,
    read_table,
    reading,
)
from bnnbench.files import RefusedFile
from bnnbench.results.metric_table import BY_KEY, METRICS
from bnnbench.types import UserError

CALIBRATION = "calibration"
"""Table that the run's page adds: `calibration.calibration_table`."""

REPORTED_LEVELS = (0.5, 0.9, 0.95)
"""Levels whose coverage and mean width are reported."""

CALIBRATION_METRICS = (
    "calibration_error",
    *(f"coverage_{100 * level:.0f}" for level in REPORTED_LEVELS),
    *(f"width_{100 * level:.0f}" for level in REPORTED_LEVELS),
)

LOG_COLUMNS = (LOG_MEAN, LOG_VARIANCE)
"""Further columns of runs that fitted the logarithm of the target."""

FILLED_TEXTS = (*SPLIT_KEY, "bits")
"""Text columns of `splits.csv` without missing values."""

NUMERIC_COLUMNS = ("split", *SIZES, "diverged", *(metric.key for metric in METRICS))
"""Numeric columns that every `splits.csv` has."""

TEXT, NUMBER = (str,), (int, float, type(None))

METADATA: Mapping[str, tuple[type, ...]] = {"experiment": TEXT}
"""Types of the metadata in the record of every kind of run."""

SPLIT_METADATA: Mapping[str, tuple[type, ...]] = {
    **METADATA,
    **dict.fromkeys(("dataset", "method", "family", "divergence", "divergence_family"), TEXT),
    **dict.fromkeys(("likelihood", "loss", "target"), TEXT),
    **dict.fromkeys(("order", "weight"), NUMBER),
    **dict.fromkeys(("depth", "seed", "inputs", "initial_points"), (int,)),
    **dict.fromkeys(("synthetic", "score_training_rows"), (bool,)),
}
"""The same for runs on splits."""


def read_splits(folder: RunFolder) -> pd.DataFrame:
    """Read `splits.csv`, one row per split.

    Raises:
        DamagedRun: if the file is missing or damaged.
    """
    path, problem = folder.table(split_files.SPLITS), "is missing or not a table of splits"
    table = read_table(path, NUMERIC_COLUMNS, (*FILLED_TEXTS, AT_BOUND), problem)
    with reading(path, problem):
        further = [name for name in table if name in BY_KEY or name.startswith((HYPER, DIAGNOSTIC))]
        check_numeric(table, further)
        if table["split"].duplicated().any() or table[[*FILLED_TEXTS]].isna().any(axis=None):
            raise ValueError
    return table.fillna({AT_BOUND: ""})


def read_search(folder: RunFolder) -> pd.DataFrame:
    """Read `search.csv`; empty if nothing was searched.

    Raises:
        UserError: if the file is damaged.
    """
    numbers = ("split", "iteration", "objective")
    return read_table(folder.table(split_files.SEARCH), numbers, optional=True)


def read_columns(folder: RunFolder, name: str) -> pd.DataFrame | None:
    """Read the flat arrays of one file as columns; None if the run did not save them.

    Raises:
        DamagedRun: if the file is damaged.
    """
    path = folder.arrays(name)
    if not path.exists():
        return None
    arrays = read_arrays(path)
    with reading(path):
        of_log = LOG_COLUMNS if {*LOG_COLUMNS} & {*arrays} else ()
        check_numeric(arrays, {*ARRAY_COLUMNS[name], *COUNTERS.intersection(arrays), *of_log})
        if any(array.ndim != 1 for array in arrays.values()):
            raise ValueError
        return pd.DataFrame(arrays)  # fails for unequal lengths


def read_predictions(folder: RunFolder) -> pd.DataFrame | None:
    """Read the predictions, one row per test point, original units."""
    return read_columns(folder, split_files.PREDICTIONS)


def read_test_points(folder: RunFolder, splits: pd.DataFrame) -> pd.DataFrame | None:
    """Read the predictions of those of the splits that did not diverge, if they were saved."""
    points = read_predictions(folder)
    valid = splits.loc[splits["diverged"] == 0, "split"]
    return None if points is None else points[points["split"].isin(valid)]


def read_out_of_fold(folder: RunFolder) -> pd.DataFrame | None:
    """Read the out-of-fold predictions of the training points, without diverged folds."""
    points = read_columns(folder, split_files.OUT_OF_FOLD)
    if points is None:
        return None
    return points[
        [name for name in (*POINT_COLUMNS, *LOG_COLUMNS, FOLD) if name in points]
    ].dropna()


def read_training_points(folder: RunFolder) -> pd.DataFrame | None:
    """Read `split`, `input` and `target` of the training points of a run with one input."""
    for name in (split_files.TRAINING, split_files.OUT_OF_FOLD):
        points = read_columns(folder, name)
        if points is not None:
            return points[["split", "input", "target"]]
    return None


def read_objective(folder: RunFolder) -> pd.DataFrame | None:
    """Read `split`, `epoch`, `loss`, `complexity` and their sum `objective`, if saved."""
    table = read_columns(folder, split_files.OBJECTIVE)
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
    except (RefusedFile, PermissionError) as error:
        text = f"{error.filename} cannot be read: {error.strerror}."
        raise UserError(text, Path(error.filename).name, "unreadable") from None


def calibration_of(folder: RunFolder) -> pd.DataFrame | None:
    """Return the calibration table; None without a valid one."""
    numbers = ("split", *CALIBRATION_METRICS)
    try:
        return read_table(folder.table(CALIBRATION), numbers, ("recalibration",))
    except DamagedRun:  # a report recomputes it
        return None


def check_metadata(folder: RunFolder, record: Record) -> None:
    """Raise a `DamagedRun` if a record lacks metadata, or they have wrong types."""
    types = SPLIT_METADATA if record.kind == split_files.KIND else METADATA
    metadata: Mapping[str, Any] = record.metadata
    if missing := sorted(types.keys() - metadata.keys()):
        raise damaged_file_error(folder.record, f"lacks {', '.join(missing)}")
    if wrong := [name for name, allowed in types.items() if type(metadata[name]) not in allowed]:
        raise damaged_file_error(folder.record, f"has a damaged value of {', '.join(wrong)}")
