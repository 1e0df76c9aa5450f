"""Names of data sets: two tables of the user never share one.

A run was computed from the data whose fingerprint is `data` in its record: `north/flow.csv` and
`south/flow.csv` are two data sets, and so are two versions of one file, or two targets in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from bnnbench.notes import one_line

DATA, FILE = "data", "file"
"""Columns with the fingerprint of a run's data, and the user's file with its folder."""

NAME, TARGET = "table", "dataset.target"
"""The settings with the label of a table and with the name of its target."""

SHORT = 6
"""Digits of a fingerprint in a name."""


def distinct_data_sets(tables: Iterable[pd.DataFrame]) -> dict[str, str]:
    """Return another name for the data set of each run whose table shares its name with another.

    The name is followed by the file, the target and the beginning of the fingerprint, as far as
    these are needed. Tables that are not files of the user keep their names.

    Args:
        tables: rows of `Runs.tables`.

    Returns:
        The names by run.
    """
    described = [table for table in tables if {DATA, FILE} <= {*table.columns}]
    if not described:
        return {}
    rows = pd.concat([one[[DATA, FILE, "settings"]] for one in described]).dropna()
    names = rows["settings"].map(lambda settings: str(settings.get(NAME)))
    targets = rows["settings"].map(lambda settings: f"target {settings.get(TARGET)}")
    for part in (rows[FILE].map(one_line), targets.map(one_line), rows[DATA].str[:SHORT]):
        shared = rows.groupby(names)[DATA].transform("nunique") > 1
        names = names.where(~shared, names + " (" + part + ")")
    return {str(run): name for run, name in names[rows[FILE] != ""].items()}


def renamed(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return a table of runs or of their splits with new names of data sets, by run."""
    if not names or "dataset" not in table:
        return table
    runs = table.get("run", table.index)
    new = [names.get(run, old) for run, old in zip(runs, table["dataset"], strict=True)]
    return table.assign(dataset=new)
