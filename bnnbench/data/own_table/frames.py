"""Convert frames of any library to pandas, with columns of numbers, dates and text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.data.errors import override
from bnnbench.data.own_table.columns.encoding import DATES, infer_encoding
from bnnbench.data.own_table.read.frame_file import DATE_TYPES, SUFFIX
from bnnbench.data.own_table.read.names import clean_name
from bnnbench.near_names import list_names
from bnnbench.types import UserError

DURATIONS = ("timedelta", "timedelta64")
TIMES = (*DATE_TYPES, "period", *DURATIONS)
"""Names of `pandas.api.types.infer_dtype` for points in time and their differences."""


def is_exchangeable(data: object) -> bool:
    """Whether an object has columns that pandas may be able to take: a frame, or a series."""
    return hasattr(type(data), "__arrow_c_stream__")


def as_pandas(data: Any, name: str) -> pd.DataFrame:
    """Return a frame of any library as one of pandas.

    Args:
        data: of pandas, polars, pyarrow, DuckDB, ...
        name: of the argument, for messages.

    Raises:
        UserError: if it is not a frame, or pyarrow is missing.
    """
    if isinstance(data, pd.DataFrame):
        return data
    try:
        if is_exchangeable(data):
            return pd.DataFrame.from_arrow(data)
    except ImportError:
        problem = f"{name}: frames of other libraries than pandas require pyarrow; install it."
        raise UserError(problem, name, "missing_library") from None
    except (TypeError, ValueError):
        pass  # a series
    raise UserError(
        f"{name} must be a table with named columns, such as a frame of pandas or polars, not "
        f"{type(data).__name__}; convert it with pandas.DataFrame({name}, columns=[...]).",
        name,
        "wrong_type",
    )


def named_frame(data: Any, name: str) -> tuple[pd.DataFrame, list[str]]:
    """Return a frame with clean names and columns of numbers, dates or text.

    Durations become numbers of seconds, and periods the dates on which they start.

    Args:
        data: a frame of any library.
        name: of the argument, for messages.

    Returns:
        The frame, and notes on durations and on an index that describes the rows.

    Raises:
        UserError: if it is not a frame.
    """
    given, durations = as_pandas(data, name), []
    frame = given.set_axis([clean_name(column) for column in given], axis=1)
    notes = _notes_on_index(frame, name)
    for k, column in enumerate(frame.columns):
        cells = frame.iloc[:, k]
        kind = pd.api.types.infer_dtype(cells, skipna=True)
        if kind in DURATIONS:
            frame.isetitem(k, pd.to_timedelta(cells).dt.total_seconds())
            durations.append(column)
        elif kind == "period":
            frame.isetitem(k, pd.PeriodIndex(cells).to_timestamp())
    if durations:
        notes.append(f"{name}: durations became numbers of seconds in {list_names(durations)}")
    return frame, notes


def _notes_on_index(frame: pd.DataFrame, name: str) -> list[str]:
    """Return advice about an index that holds more than row numbers."""
    columns = frame.head(0).reset_index(allow_duplicates=True).columns
    names = [f"{one}_index" if one in frame else str(one) for one in columns[: frame.index.nlevels]]
    reset = f"{name}.reset_index({f'names={names}' if columns.has_duplicates else ''})"
    levels = [frame.index.get_level_values(k) for k in range(frame.index.nlevels)]
    new = [k for k, level in enumerate(levels) if not _is_column(level, frame)]
    for k in new:
        if _holds_times(levels[k]):
            return [
                f"{name}: the index holds times, and is not used: to test on later rows than those "
                f"for training, give {reset} and {override('time', names[k])}"
            ]
    used = [names[k] for k in new if _describes_rows(levels[k])]
    return [f"{name}: the index is not used: to use {list_names(used)}, give {reset}"] * bool(used)


def _is_column(level: pd.Index, frame: pd.DataFrame) -> bool:
    """Whether a column has the name and the values of an index."""
    return level.name in frame and level.equals(pd.Index(frame[level.name]))


def _holds_times(level: pd.Index) -> bool:
    kind = pd.api.types.infer_dtype(level, skipna=True)
    return kind in TIMES or (
        kind == "string" and infer_encoding(level.to_series().astype(object)).kind == DATES
    )


def _describes_rows(level: pd.Index) -> bool:
    """Whether labels are neither numbers of rows nor a name for each."""
    if pd.api.types.infer_dtype(level, skipna=True) != "integer":
        return not (level.is_unique and level.dtype.kind != "f")
    counts = level.is_unique and level.min() in (0, 1) and np.ptp(level) < len(level)
    return level.name is not None and not counts


@contextmanager
def naming_the_frame(path: Path) -> Iterator[None]:
    """Change errors of the block as `about_frame` does."""
    try:
        yield
    except UserError as error:
        raise UserError(about_frame(str(error), path), error.setting, error.code) from None


def about_frame(text: str, path: Path) -> str:
    """Return a message in which the frame of the user takes the place of its file.

    A file of the user keeps its name.
    """
    if path.suffix != SUFFIX:
        return text
    text = text.removeprefix("dataset.path: ")
    return text.replace(str(path), "the frame").replace(path.name, "the frame")
