"""Read the files of a finished run and verify that they are undamaged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from bnnbench.experiment.run_folder import Done, Record, RunFolder, read_record
from bnnbench.experiment.split_files import KIND, SPLITS
from bnnbench.results.run_files import (
    ARRAY_COLUMNS,
    CALIBRATION,
    damaged_file_error,
    read_arrays,
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

    Files without a checksum (of earlier versions, or written by the run's page) are damaged if
    they cannot be read or have fewer rows than `DONE` lists units.

    Raises:
        UserError: naming the damaged file.
    """
    record = read_record(folder)
    check_metadata(folder, record)
    done = folder.finished()
    wrong = folder.damaged(done.files) if done else []
    if wrong:
        raise damaged_file_error(folder.root / wrong[0])
    if record.kind != KIND:
        return VerifiedRun(folder, record, pd.DataFrame(), None)
    splits, units = read_splits(folder), count_units(folder)
    if len(splits) < units:
        problem = f"has {len(splits)} of {units} splits"
        raise damaged_file_error(folder.table(SPLITS), problem)
    if done is None:  # otherwise the checksums were verified
        for name in ARRAY_COLUMNS:
            read_arrays(folder, name)
    return VerifiedRun(folder, record, splits, *read_page_calibration(folder, done))


def read_page_calibration(folder: RunFolder, done: Done | None) -> tuple[pd.DataFrame | None, str]:
    """Return the calibration table of the run's page, and a message if it is damaged.

    The table can be recomputed from the predictions.
    """
    path = folder.root / f"{CALIBRATION}.csv"
    sums = {n: checksum for n, checksum in (done.page if done else {}).items() if n == path.name}
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
    mappings = isinstance(record.metadata, Mapping) and isinstance(record.identity, Mapping)
    if not mappings:
        raise damaged_file_error(folder.record)
    if missing := sorted(needed - record.metadata.keys()):
        raise damaged_file_error(folder.record, f"lacks {', '.join(missing)}")


def count_units(folder: RunFolder) -> int:
    """Return the number of units listed in `DONE`.

    Raises:
        UserError: if the file is damaged.
    """
    try:
        return len(json.loads(folder.done.read_text())["units"])
    except (OSError, ValueError, KeyError, TypeError):
        raise damaged_file_error(folder.done) from None
