"""Whether what a finished run left is as it was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from bnnbench.experiment.record import Record, read_record
from bnnbench.experiment.run_folder import Done, RunFolder
from bnnbench.experiment.split_files import KIND, SPLITS
from bnnbench.results.run_files import (
    ARRAYS,
    CALIBRATION,
    damaged,
    read_arrays,
    read_calibration,
    read_splits,
)
from bnnbench.types import UserError

NAMES = ("experiment",)
"""That every record has, of whatever kind of run."""

NAMES_ON_SPLITS = (
    "dataset", "method", "family", "divergence", "divergence_family", "order", "weight",
    "likelihood", "loss", "depth", "seed", "inputs", "made", "target", "training_part",
    "initial_points",
)  # fmt: skip


class Intact(NamedTuple):
    """A finished run whose files can be read.

    Attributes:
        folder: of the run.
        record: its own.
        splits: of `read_splits`; no rows of a run of another kind.
        calibration: of `read_calibration`; None where that is not there or damaged.
        mended: a sentence on what is damaged and no loss.
    """

    folder: RunFolder
    record: Record
    splits: pd.DataFrame
    calibration: pd.DataFrame | None
    mended: str = ""


def read_intact(folder: RunFolder) -> Intact:
    """Reads what every report reads of a run, and makes sure of what it may read.

    What has no checksum, because an earlier version wrote the run or because its page wrote the
    file, is damaged if it cannot be read, or if it has fewer rows than `DONE` lists units.

    Raises:
        UserError: naming the damaged file.
    """
    record = read_record(folder)
    check_names(folder, record)
    done = folder.finished()
    wrong = folder.damaged(done.files) if done else []
    if wrong:
        raise damaged(folder.root / wrong[0])
    if record.kind != KIND:
        return Intact(folder, record, pd.DataFrame(), None)
    splits, units = read_splits(folder), units_of(folder)
    if len(splits) < units:
        what = f"has {len(splits)} of {units} splits"
        raise damaged(folder.table(SPLITS), what)
    if done is None:  # else their checksums were right
        for name in ARRAYS:
            read_arrays(folder, name)
    return Intact(folder, record, splits, *calibration_of_page(folder, done))


def calibration_of_page(folder: RunFolder, done: Done | None) -> tuple[pd.DataFrame | None, str]:
    """What the run's page found of its calibration, and a sentence if that is damaged.

    It is made of the predictions and can be made again.
    """
    path = folder.root / f"{CALIBRATION}.csv"
    sums = {n: wanted for n, wanted in (done.page if done else {}).items() if n == path.name}
    try:
        if path.exists() and folder.damaged(sums):
            raise damaged(path)
        return read_calibration(folder), ""
    except UserError:
        return None, (
            f"{path} is damaged; its numbers are computed anew, and --refresh writes it again."
        )


def check_names(folder: RunFolder, record: Record) -> None:
    """Refuses a record that has no names or no settings.

    Raises:
        UserError: naming the file.
    """
    needed = {*NAMES, *(NAMES_ON_SPLITS if record.kind == KIND else ())}
    mappings = isinstance(record.names, Mapping) and isinstance(record.identity, Mapping)
    if not mappings:
        raise damaged(folder.record)
    if missing := sorted(needed - record.names.keys()):
        raise damaged(folder.record, f"says nothing of {', '.join(missing)}")


def units_of(folder: RunFolder) -> int:
    """How many units `DONE` lists.

    Raises:
        UserError: if it is no such list.
    """
    try:
        return len(json.loads(folder.done.read_text())["units"])
    except (OSError, ValueError, KeyError, TypeError):
        raise damaged(folder.done) from None
