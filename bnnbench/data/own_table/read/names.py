"""Names of columns as in the file or by position, and the columns and rows that they belong to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.cells.numbers import MISSING, is_number
from bnnbench.near_names import list_names
from bnnbench.notes import quantity, shorten

if TYPE_CHECKING:
    import pandas as pd

ENDS = re.compile(r"^[\s\u200b\ufeff]+|[\s\u200b\ufeff]+$")
"""Blanks, of which some have no width, at the ends of a name."""


def clean_name(name: object) -> str:
    """Return the name of a column without surrounding blanks and line breaks."""
    return re.sub(r"\s*[\r\n]+\s*", " ", ENDS.sub("", str(name)))


def with_clean_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the names that its columns have in a file."""
    return frame.set_axis([clean_name(name) for name in frame], axis=1)


def name_by_position(names: Sequence[str]) -> list[str]:
    """Return the names, and `column_3` for the third column if it has none."""
    return [name or f"column_{k}" for k, name in enumerate(names, 1)]


def with_names(
    path: Path, frame: pd.DataFrame, names: Sequence[object]
) -> tuple[pd.DataFrame, list[str]]:
    """Set the names of columns, and drop those that have neither a name nor a value.

    Args:
        path: the file, for messages.
        frame: its rows, with any column names.
        names: as in the file; empty for no name.

    Returns:
        The frame, and notes on what was changed.

    Raises:
        UserError: if two columns have the same number as name.
    """
    clean, notes = [clean_name(name) for name in names], []
    broken = [name for name, old in zip(clean, names, strict=True) if _has_break(old)]
    if broken:
        notes.append(f"replaced line breaks in the names {list_names(broken)}")
    unnamed = [k for k, name in enumerate(clean) if not name]
    empty = [k for k in unnamed if _is_empty(frame.iloc[:, k])]
    if empty:
        notes.append(f"dropped {_columns(empty)} without a name or a value")
    by_position = name_by_position(clean)
    called = [k for k in unnamed if k not in empty]
    if called:
        new = list_names(by_position[k] for k in called)
        notes.append(f"{_columns(called)} without a name became {new}")
    kept = [k for k in range(len(clean)) if k not in empty]
    named = frame.iloc[:, kept].set_axis([by_position[k] for k in kept], axis=1)
    repeated = [name for name, times in Counter(named.columns).items() if times > 1]
    if any(map(is_number, repeated)):
        raise invalid(
            "path",
            "duplicate_column",
            f"{path} has more than one column {shorten(repeated[0])!r}; column names must be "
            f"unique ({header_hint(repeated)}).",
        )
    unique = _unique(list(named.columns))
    changed = [
        f"{shorten(old)} -> {new}" for old, new in zip(named, unique, strict=True) if old != new
    ]
    if changed:
        notes.append(f"renamed columns whose name occurs again: {list_names(changed)}")
    return named.set_axis(unique, axis=1), notes


def _unique(names: Sequence[str]) -> list[str]:
    """Return the names; a repeated one is followed by the first free number from 2."""
    unique: dict[str, None] = {}
    for name in names:
        numbered = (f"{name}_{k}" for k in count(2))
        free = (one for one in numbered if one not in unique and one not in names)
        unique[next(free) if name in unique else name] = None
    return [*unique]


def _has_break(name: object) -> bool:
    return bool(re.search(r"[\r\n]", str(name).strip()))


def _columns(positions: Sequence[int]) -> str:
    numbers = list_names(k + 1 for k in positions)
    return f"column{'s' * (len(positions) > 1)} {numbers}"


def _is_empty(column: pd.Series) -> bool:
    texts = column.dropna().astype(str).str.strip().str.lower()
    return bool(texts.isin(MISSING).all())


def without_empty_end(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Drop empty rows at the end, and return a note about them."""
    filled = np.flatnonzero(frame.notna().any(axis=1))
    rows = int(filled[-1]) + 1 if len(filled) else 0
    dropped = len(frame) - rows
    note = f"dropped {quantity(dropped, 'empty row')} at the end"
    return frame.head(rows), [note] * bool(dropped)


def fill_names(names: Sequence[str], frame: pd.DataFrame) -> list[str] | None:
    """Return a name, which may be empty, for each column; None if it cannot be known.

    The rows may end with separators, or start with the number or name of the row, as R writes it.
    """
    extra = frame.shape[1] - len(names)
    if frame.iloc[:, len(names) :].apply(_is_empty).all(axis=None):
        return [*names, *[""] * extra]
    return ["", *names] if extra == 1 and _are_row_names(frame.iloc[:, 0]) else None


def _are_row_names(column: pd.Series) -> bool:
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    numbered = np.array_equal(numbers, np.arange(1, len(column) + 1))
    return numbered or (column.is_unique and bool(np.isnan(numbers).all()))


def header_hint(names: Sequence[str]) -> str:
    """Return advice on a file without names if a name is a number; else an empty string."""
    if not any(map(is_number, names)):
        return ""
    return "if its first line holds data, not names, add dataset.header=false"


def header_note(frame: pd.DataFrame) -> list[str]:
    """Return a note if the names of the columns look like a row of data.

    They do if numeric columns have numbers as names and names of other columns occur in the rows.
    """
    names = [str(name) for name in frame]
    if not header_hint(names):
        return []
    alike = (is_number(name) or (frame[name].astype(str) == name).any() for name in names)
    return [f"the names are {list_names(names)}: {header_hint(names)}"] if all(alike) else []
