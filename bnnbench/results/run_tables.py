"""The tables of all runs of one kind, joined for a section of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.labels import labels
from bnnbench.results.reader import Runs

DATASET = {"dataset": "dataset"}
"""The default column that `read_tables` adds."""


def read_tables(
    runs: Runs,
    kind: str,
    read: Callable[[RunFolder], pd.DataFrame],
    added: Mapping[str, str] = DATASET,
) -> pd.DataFrame:
    """Read a table of every run of one kind.

    Args:
        runs: the finished runs.
        kind: of experiment.
        read: reads the table of one run.
        added: columns to add, with the name of the run's metadata that each contains.

    Returns:
        The rows of all tables, with `run`, `label` and the added columns; empty without runs.
    """
    records = runs.tables.get(kind, pd.DataFrame())
    if records.empty:
        return records
    described = records[[*added.values()]].set_axis([*added], axis=1).assign(label=labels(records))
    tables = [
        read(runs.folders[run]).assign(run=run, **columns)
        for run, columns in described.to_dict("index").items()
    ]
    return pd.concat(tables, ignore_index=True)
