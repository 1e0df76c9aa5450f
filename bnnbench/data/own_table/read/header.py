"""Find the row with the names of columns: the first, or below titles, comments and metadata."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bnnbench.data.own_table.cells.numbers import MISSING, is_number
from bnnbench.notes import quantity, shorten

COMMENT = "#"

NUMBER = re.compile(r"(?!\d+\)\s*\w)[-+\u2212<>~=.,$€£'(\s]{0,2}\d")
"""The beginning of a number, date or time in any notation; `1) text` is a note."""

WORD = re.compile(r"[^\W\d_]{2}|^[^\W\d_]$|[∑°%‰€$£]")
"""A part of a word, a label such as Σ, or a unit; the strings `?`, `-` and `n.a.` have none."""

BRACKETED = re.compile(r"\[.*\]|\(.*\)")


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
