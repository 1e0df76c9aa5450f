"""Frames of any library as frames of pandas, with columns of numbers, dates and texts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pandas as pd

from bnnbench.data.errors import override
from bnnbench.data.own_table.names import with_clean_names
from bnnbench.near_names import list_names
from bnnbench.types import UserError

ARROW, INTERCHANGE = "__arrow_c_stream__", "__dataframe__"
"""Methods by which libraries exchange frames: those of Arrow and of the DataFrame API."""

DURATIONS, PERIODS = ("timedelta", "timedelta64"), ("period",)
TIMES = ("datetime", "datetime64", "date", *PERIODS, *DURATIONS)
"""What `pandas.api.types.infer_dtype` calls points in time and differences between them."""


def is_exchangeable(data: object) -> bool:
    """Whether an object has columns that pandas may be able to take: a frame, or a series."""
    return any(hasattr(type(data), method) for method in (ARROW, INTERCHANGE))


def as_pandas(data: Any, name: str) -> pd.DataFrame:
    """Return a frame of any library as one of pandas.

    Args:
        data: of pandas, polars, pyarrow, DuckDB, Modin, ...
        name: of the argument, for messages.

    Raises:
        UserError: if it is no frame, or pyarrow is missing.
    """
    if isinstance(data, pd.DataFrame):
        return data
    try:
        if hasattr(type(data), ARROW):
            return pd.DataFrame.from_arrow(data)
        if hasattr(type(data), INTERCHANGE):  # pandas' own function is deprecated
            from pyarrow.interchange import from_dataframe

            return pd.DataFrame.from_arrow(from_dataframe(data))
    except ImportError:
        problem = f"{name}: frames of {_library(data)} require pyarrow; install it."
        raise UserError(problem, name, "missing_library") from None
    except (TypeError, ValueError):
        pass  # a series
    raise UserError(
        f"{name} must be a table with named columns, such as a frame of pandas or polars, not "
        f"{type(data).__name__}; convert it with pandas.DataFrame({name}, columns=[...]).",
        name,
        "wrong_type",
    )


def _library(data: object) -> str:
    return type(data).__module__.partition(".")[0]


def named_frame(data: Any, name: str) -> tuple[pd.DataFrame, list[str]]:
    """Return a frame with clean names whose columns are numbers, dates or texts.

    Durations become numbers of seconds, and periods the dates on which they start.

    Args:
        data: a frame of any library.
        name: of the argument, for messages.

    Returns:
        The frame, and a note on durations if there are any.

    Raises:
        UserError: if it is no frame, or its columns have several levels.
    """
    frame = as_pandas(data, name)
    if frame.columns.nlevels > 1:
        raise UserError(
            f"the columns of {name} have {frame.columns.nlevels} levels; give each column one name "
            f"with {name}.columns = ['_'.join(map(str, levels)) for levels in {name}], and name "
            "one target.",
            name,
            "several_levels",
        )
    frame, durations = with_clean_names(frame).copy(deep=False), []
    for k, column in enumerate(frame.columns):
        cells = frame.iloc[:, k]
        kind = pd.api.types.infer_dtype(cells, skipna=True)
        if kind in DURATIONS:
            frame.isetitem(k, pd.to_timedelta(cells).dt.total_seconds())
            durations.append(column)
        elif kind in PERIODS:
            frame.isetitem(k, pd.PeriodIndex(cells).to_timestamp())
    verb = "became a number" if len(durations) == 1 else "became numbers"
    note = f"{name}: the durations in {list_names(durations)} {verb} of seconds"
    return frame, [note] * bool(durations)


def index_notes(data: Any, name: str) -> list[str]:
    """Return a note if the index of a frame holds times, or has a name and does not count rows.

    Args:
        data: a frame of any library.
        name: of the argument, for the note.
    """
    if not isinstance(data, pd.DataFrame):
        return []
    index = data.index
    levels = [index.get_level_values(k) for k in range(index.nlevels)]
    column = next((k for k, level in enumerate(levels) if _kind(level) in TIMES), None)
    columns = _columns_of_index(data)
    if column is not None:
        by_time = override("time", str(columns[column]))
        return [
            f"{name}: the index holds times, and is not used: to test on later rows than those for "
            f"training, give {name}.reset_index() and {by_time}"
        ]
    named = any(level.name is not None and not _counts_rows(level) for level in levels)
    if not named:
        return []
    return [
        f"{name}: the index {list_names(map(str, columns))} is not used: if it matters, give "
        f"{name}.reset_index()"
    ]


def _kind(level: pd.Index) -> str:
    return str(pd.api.types.infer_dtype(level, skipna=True))


def _counts_rows(level: pd.Index) -> bool:
    """Whether an index is `0, 1, 2, ...` or `1, 2, 3, ...`."""
    counts = pd.api.types.is_integer_dtype(level.dtype) and len(level) > 0
    return counts and level.equals(pd.RangeIndex(level[0], level[0] + len(level))) and level[0] < 2


def _columns_of_index(frame: pd.DataFrame) -> list[Hashable]:
    """Return the names of the columns that `reset_index` adds."""
    return list(frame.head(0).reset_index(allow_duplicates=True).columns[: frame.index.nlevels])
