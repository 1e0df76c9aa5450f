"""Tables of a run on splits that are derived from its splits and predictions."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import KIND
from bnnbench.files import write_text
from bnnbench.results.read.run_files import (
    CALIBRATION,
    read_out_of_fold,
    read_splits,
    read_test_points,
)
from bnnbench.results.read.split_summary import summarise
from bnnbench.results.score.calibration import calibration_table

SUMMARY = "summary"
"""Table with every metric averaged over the splits."""


def derived_tables(folder: RunFolder) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the names and contents of the tables; none for other kinds of run."""
    if read_record(folder).kind != KIND:
        return
    splits = read_splits(folder)
    yield SUMMARY, summarise(splits)
    points = read_test_points(folder, splits)
    if points is not None:
        yield CALIBRATION, calibration_table(points, read_out_of_fold(folder))


def write_derived_tables(folder: RunFolder) -> list[str]:
    """Write `summary.csv` and `calibration.csv`, and return the names of the files."""
    written = []
    for name, table in derived_tables(folder):
        write_text(folder.table(name), table.to_csv(index=False))
        written.append(folder.table(name).name)
    return written
