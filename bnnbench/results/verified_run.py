"""Read the files of a finished run and verify that they are undamaged."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from bnnbench.experiment.run_folder import Done, Record, RunFolder, read_record
from bnnbench.experiment.split_files import KIND
from bnnbench.results.run_files import (
    CALIBRATION,
    damaged_file_error,
    read_calibration,
    read_splits,
)
from bnnbench.types import UserError

REQUIRED_METADATA = ("experiment",)
"""Keys in the record of every kind of run."""

REQUIRED_SPLIT_METADATA = (
    "dataset", "method", "family", "divergence", "divergence_family", "order", "weight",
    "likelihood", "loss", "depth", "seed", "inputs", "synthetic", "target", "score_training_rows",
    "initial_points",
)  # fmt: skip


class VerifiedRun(NamedTuple):
    """A finished run whose files can be read.

    Attributes:
        folder: the run's folder.
        record: its record.
        splits: its `read_splits`; empty for other kinds of run.
        calibration: its `read_calibration`; None if missing or damaged.
        recomputed: a message about a damaged file that can be recomputed.
    """

    folder: RunFolder
    record: Record
    splits: pd.DataFrame
    calibration: pd.DataFrame | None
    recomputed: str = ""


def read_verified(folder: RunFolder) -> VerifiedRun:
    """Read the files that every report needs, and verify the others.

    Raises:
        UserError: naming the damaged file.
    """
    record = read_record(folder)
    check_metadata(folder, record)
    done = folder.finished()
    if done is None:
        raise damaged_file_error(folder.done)
    if wrong := folder.damaged(done.files):
        raise damaged_file_error(folder.root / wrong[0])
    if record.kind != KIND:
        return VerifiedRun(folder, record, pd.DataFrame(), None)
    return VerifiedRun(folder, record, read_splits(folder), *read_page_calibration(folder, done))


def read_page_calibration(folder: RunFolder, done: Done) -> tuple[pd.DataFrame | None, str]:
    """Return the calibration table of the run's page, and a message if it is damaged.

    The table can be recomputed from the predictions.
    """
    path = folder.root / f"{CALIBRATION}.csv"
    sums = {n: checksum for n, checksum in done.page.items() if n == path.name}
    try:
        if path.exists() and folder.damaged(sums):
            raise damaged_file_error(path)
        return read_calibration(folder), ""
    except UserError:
        return None, (
            f"{path} is damaged; its numbers were recomputed (--refresh rewrites the file)."
        )


def check_metadata(folder: RunFolder, record: Record) -> None:
    """Raise a `UserError` if a record lacks metadata or settings."""
    needed = {*REQUIRED_METADATA, *(REQUIRED_SPLIT_METADATA if record.kind == KIND else ())}
    kinds = str | int | float | None
    if not all(isinstance(value, kinds | list) for value in record.metadata.values()):
        raise damaged_file_error(folder.record)
    if missing := sorted(needed - record.metadata.keys()):
        raise damaged_file_error(folder.record, f"lacks {', '.join(missing)}")
