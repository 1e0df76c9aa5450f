"""The names of columns: their row in the file, and what replaces missing and repeated ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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

COMMENT = "#"

NUMBER = re.compile(r"(?!\d+\)\s*\w)[-+\u2212<>~=.,$€£'(\s]{0,2}\d")
"""The beginning of a number, date or time in any notation; `1) text` is a note."""

WORD = re.compile(r"[^\W\d_]{2}|^[^\W\d_]$|[∑°%‰€$£]")
"""A part of a word, a label such as Σ, or a unit; the strings `?`, `-` and `n.a.` have none."""

BRACKETED = re.compile(r"\[.*\]|\(.*\)")

ENDS = re.compile(r"^[\s\u200b\ufeff]+|[\s\u200b\ufeff]+$")
"""Blanks, of which some have no width, at the ends of a name."""


@dataclass(frozen=True)
class Header:
    """Where the names of columns are.

    Attributes:
        row: the index of their row, or of the first row of data if there are no names.
        names: of the columns; empty without names.
        units: the rows directly below, which hold units.
    """

    row: int
    names: Sequence[str]
    units: Sequence[Sequence[str]] = ()

    @property
    def below(self) -> int:
        """The index of the first row of data."""
        return self.row + bool(self.names) + len(self.units)

    def notes(self, numbers: Sequence[int], noun: str) -> list[str]:
        """Return notes on the rows that are not data.

        Args:
            numbers: the number of each row in the file, from 1.
            noun: what is counted: `line` or `row`.
        """
        first, above = numbers[self.row], quantity(numbers[self.row] - 1, noun)
        where = f" (names in {noun} {first})" if self.names else ""
        texts = [shorten(", ".join(filter(None, row))) for row in self.units]
        units = [
            f"skipped {noun} {numbers[k]}, which has units ({text})"
            for k, text in enumerate(texts, self.row + 1)
        ]
        return [f"skipped {above} above the table{where}"] * (first > 1) + units


def usual_length(rows: Sequence[Sequence[str]]) -> int:
    """Return the row length that accounts for the most cells, among lengths of several rows."""
    counts = Counter(map(len, rows))
    repeated = {length: count for length, count in counts.items() if count > 1} or counts
    return max(repeated, key=lambda length: (repeated[length] * length, length))


def is_measured(text: str) -> bool:
    """Whether a string is a number, date or time, perhaps with a unit, not several words."""
    return bool(NUMBER.match(text)) and len(re.findall(r"[^\W\d_]{3,}", text)) < 2


def is_word(text: str) -> bool:
    """Whether a string is a word, not a number, date or mark of a missing value."""
    small = text.lower()
    return small not in MISSING and not is_measured(text) and bool(WORD.search(text))


def find_header(rows: Sequence[Sequence[str]], header: bool | int = True) -> Header:
    """Find the names above the first row of data.

    The last comment has the names if numbers follow it, as `numpy.savetxt` writes them.

    Args:
        rows: the cells of the first rows, not empty.
        header: whether there are names; a number if the first row has them.
    """
    usual = usual_length(rows)

    def is_comment(row: Sequence[str]) -> bool:
        name = row[0] == COMMENT and len(row) == usual
        return row[0].startswith(COMMENT) and not name

    def is_above(row: Sequence[str]) -> bool:
        name = len(row) == usual and (not header or (usual == 2 and not row[0]))
        filled = sum(map(bool, row))
        return usual > 1 and (not filled or (filled == 1 and not name) or is_comment(row))

    possible = [k for k, row in enumerate(rows) if not is_above(row)] or [0]
    start = possible[0]
    if header is False:
        return Header(start, ())
    if (
        header is True
        and start
        and is_comment(rows[start - 1])
        and any(map(is_number, rows[start]))
    ):
        first, *others = rows[start - 1]
        names = [*filter(None, [first.removeprefix(COMMENT).strip()]), *others]
        if len(names) == usual:
            return Header(start - 1, names)
    columns = _columns(rows)
    row = _names(rows, possible, columns) if header is True else 0
    end = next((k for k in range(row + 1, len(rows)) if not _are_units(rows[k], columns)), row + 1)
    return Header(row, rows[row], rows[row + 1 : end])


def _columns(rows: Sequence[Sequence[str]]) -> dict[int, list[str]]:
    """Return the cells of columns that are filled in most of the last of the longest equal rows.

    The list of a column without numbers, dates or times is empty.
    """
    trimmed = [row[: max((k + 1 for k, cell in enumerate(row) if cell), default=0)] for row in rows]
    usual = usual_length(trimmed)
    body = [row for row in trimmed if len(row) == usual]
    body = body[len(body) // 2 :]
    filled = [[cell for cell in column if cell] for column in zip(*body, strict=True)]
    measured = [2 * sum(map(is_measured, cells)) >= max(len(cells), 1) for cells in filled]
    pairs = enumerate(zip(filled, measured, strict=True))
    return {k: cells * of_k for k, (cells, of_k) in pairs if 2 * len(cells) >= len(body)}


def _names(
    rows: Sequence[Sequence[str]], possible: Sequence[int], columns: dict[int, list[str]]
) -> int:
    """Return the index of the first row with most different strings above the numbers.

    Rows with metadata and names of groups fill, or distinguish, fewer columns.
    """
    width = len(columns)
    cells = {k: [cell for j, cell in enumerate(rows[k]) if columns.get(j)] for k in possible}
    numbers = {k: sum(map(is_measured, cells[k])) for k in possible}
    wide = [k for k in possible if 2 * sum(map(bool, rows[k])) >= width]
    usual = next(iter(wide), possible[0])
    data = next((k for k in wide if numbers[k] > sum(map(is_word, cells[k]))), 0)
    if usual == data:  # numbers as names, unless a few names are above
        few = [k for k in possible if k < data and len(rows[k]) == len(rows[data])]
        return [data, *few][-1]
    above = [k for k in wide if k < data and (k == usual or not numbers[k])]
    if len(above) > 2 and width == 2 and all(columns.values()):
        return above[-1]  # each row above it has a key and a value
    return max(above, key=lambda k: len({*rows[k]} - {""}), default=usual)


def _are_units(row: Sequence[str], columns: dict[int, list[str]]) -> bool:
    """Whether a row has new words where the table has numbers, and nothing elsewhere."""
    cells = {k: cell for k, cell in enumerate(row) if cell and columns.get(k)}
    others = [cell for k, cell in enumerate(row) if not columns.get(k)]
    return (
        any(is_word(cell) or BRACKETED.fullmatch(cell) for cell in cells.values())
        and not any(is_measured(cell) or columns[k].count(cell) > 1 for k, cell in cells.items())
        and all(BRACKETED.fullmatch(cell) or not re.search(r"\w", cell) for cell in others)
    )


def clean_name(name: object) -> str:
    """Return the name of a column without surrounding blanks and line breaks."""
    return re.sub(r"\s*[\r\n]+\s*", " ", ENDS.sub("", str(name)))


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
    pairs = zip(clean, names, strict=True)
    broken = [name for name, old in pairs if re.search(r"[\r\n]", str(old).strip())]
    if broken:
        notes.append(f"replaced line breaks in the names {list_names(broken)}")
    unnamed = [k for k, name in enumerate(clean) if not name]
    empty = [k for k in unnamed if _is_empty(frame.iloc[:, k])]
    if empty:
        notes.append(f"dropped {_numbered(empty)} without a name or a value")
    by_position = name_by_position(clean)
    called = [k for k in unnamed if k not in empty]
    if called:
        new = list_names(by_position[k] for k in called)
        notes.append(f"{_numbered(called)} without a name became {new}")
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


def _numbered(positions: Sequence[int]) -> str:
    numbers = list_names(k + 1 for k in positions)
    return f"column{'s' * (len(positions) > 1)} {numbers}"


def _is_empty(column: pd.Series) -> bool:
    texts = column.dropna().astype(str).str.strip().str.lower()
    return bool(texts.isin(MISSING).all())


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
