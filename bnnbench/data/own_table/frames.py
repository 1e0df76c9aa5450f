"""Frames of any library as frames of pandas, with columns of numbers, dates and texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.data.errors import override
from bnnbench.data.own_table.frame_file import SUFFIX
from bnnbench.data.own_table.names import with_clean_names
from bnnbench.near_names import list_names
from bnnbench.types import UserError

DURATIONS = ("timedelta", "timedelta64")
TIMES = ("datetime", "datetime64", "date", "period", *DURATIONS)
"""What `pandas.api.types.infer_dtype` calls points in time and differences between them."""


def is_exchangeable(data: object) -> bool:
    """Whether an object has columns that pandas may be able to take: a frame, or a series."""
    return hasattr(type(data), "__arrow_c_stream__")


def as_pandas(data: Any, name: str) -> pd.DataFrame:
    """Return a frame of any library as one of pandas.

    Args:
        data: of pandas, polars, pyarrow, DuckDB, ...
        name: of the argument, for messages.

    Raises:
        UserError: if it is no frame, or pyarrow is missing.
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
    """Return a frame with clean names whose columns are numbers, dates or texts.

    Durations become numbers of seconds, and periods the dates on which they start.

    Args:
        data: a frame of any library.
        name: of the argument, for messages.

    Returns:
        The frame, and notes on durations and on an index that holds times.

    Raises:
        UserError: if it is no frame.
    """
    frame, durations = with_clean_names(as_pandas(data, name)), []
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
    names = frame.head(0).reset_index(allow_duplicates=True).columns
    for k in range(frame.index.nlevels):
        if pd.api.types.infer_dtype(frame.index.get_level_values(k), skipna=True) in TIMES:
            return [
                f"{name}: the index holds times, and is not used: to test on later rows than those "
                f"for training, give {name}.reset_index() and {override('time', str(names[k]))}"
            ]
    return []


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
