"""The tables of all runs of one kind, joined for a section of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.labels import labels
from bnnbench.results.reader import Runs


def read_tables(
    runs: Runs,
    kind: str,
    read: Callable[[RunFolder], pd.DataFrame],
    metadata: Sequence[str] = ("dataset",),
) -> pd.DataFrame:
    """Read a table of every run of one kind.

    Args:
        runs: the finished runs.
        kind: of experiment.
        read: reads the table of one run.
        metadata: columns that describe the run, to add to its rows.

    Returns:
        The rows of all tables, with `run`, `label` and the metadata; empty without runs.
    """
    records = runs.tables.get(kind, pd.DataFrame())
    if records.empty:
        return records
    described = records[[*metadata]].assign(label=labels(records))
    tables = [
        read(runs.folders[run]).assign(run=run, **columns)
        for run, columns in described.to_dict("index").items()
    ]
    return pd.concat(tables, ignore_index=True)
