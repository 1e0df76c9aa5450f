"""Names of data sets: two tables of the user never share one.

The name of a table is for people. What a run was computed from is the fingerprint of its data,
`data` in its record: `north/flow.csv` and `south/flow.csv` are two data sets, and so are two
versions of one file, or two targets in it. Two files of equal content keep their own names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

from bnnbench.notes import one_line
from bnnbench.results.settings import describe_setting, differing_settings

DATA, FILE = "data", "file"
"""Columns with the fingerprint of a run's data, and the user's file with its folder."""

NAME = "table"
"""The setting with the name that a table has alone."""

OF_DATA_SET = "dataset."
"""Beginning of the names of a data set's settings."""

SHORT = 6
"""Digits of a fingerprint in a name."""


def distinct_data_sets(tables: Iterable[pd.DataFrame]) -> dict[str, str]:
    """Return another name for the data set of each run whose table shares its name with another.

    The name is followed by what distinguishes the tables: the file, its folder, the settings with
    which it was read, or else the beginning of the fingerprint. Tables that are no file of the user
    keep their names.

    Args:
        tables: rows of `Runs.tables`.

    Returns:
        The new names by run; empty if all names are distinct.
    """
    described = [table for table in tables if {DATA, FILE} <= {*table.columns}]
    if not described:
        return {}
    rows = pd.concat([one[[DATA, FILE, "settings"]] for one in described])
    rows = rows[rows[[DATA, FILE]].map(lambda cell: isinstance(cell, str)).all(axis=1)]
    rows = rows.assign(name=[str(settings.get(NAME)) for settings in rows["settings"]])
    names: dict[str, str] = {}
    for name, own in rows.groupby("name", sort=False):
        if own[DATA].nunique() > 1:
            files = own[own[FILE] != ""].drop_duplicates(DATA)
            new = dict(zip(files[DATA], _distinguishing_words(files), strict=True))
            found = own[DATA].map(new).dropna()
            names |= {str(run): f"{name} ({words})" for run, words in found.items()}
    return names


def renamed(table: pd.DataFrame, names: Mapping[str, str], run: pd.Series | pd.Index) -> pd.Series:
    """Return the column `dataset` of a table with new names, given the run of each row."""
    new = pd.Series(run.map(names).to_numpy(), table.index, dtype=object)
    return new.fillna(table["dataset"])


def _distinguishing_words(tables: pd.DataFrame) -> list[str]:
    """Return what distinguishes tables of one name, in as few parts as possible.

    Args:
        tables: a row for each table.
    """
    paths = [PurePosixPath(one_line(file)) for file in tables[FILE]]
    settings: list[Mapping[str, Any]] = [*tables["settings"]]
    differing = [key for key in differing_settings(settings) if key.startswith(OF_DATA_SET)]
    parts = (
        [path.name for path in paths],
        [path.parent.name for path in paths],
        *(
            [describe_setting(key, one.get(key)).removeprefix(OF_DATA_SET) for one in settings]
            for key in differing
        ),
        [one[:SHORT] for one in tables[DATA]],
        [*tables[DATA]],
    )
    found: list[tuple[str, ...]] = [()] * len(tables)
    for part in parts:
        longer = [(*words, word) for words, word in zip(found, part, strict=True)]
        if len({*found}) < len({*longer}):
            found = longer
    return ["; ".join(words) for words in found]  # options are lists with commas
