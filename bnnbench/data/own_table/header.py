"""Find the row with the names of columns: the first, or below titles, comments and metadata."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bnnbench.data.own_table.cells import MISSING
from bnnbench.data.own_table.names import is_number
from bnnbench.notes import shorten

COMMENT = "#"

NUMBER = re.compile(r"[-+\u2212<>~=.,$€£'(\s]{0,2}\d")
"""The beginning of a number, date or time in any notation."""

WORD = re.compile(r"[^\W\d_]{2}|^[^\W\d_]$|[∑°%‰€$£]")
"""A part of a word, a label such as Σ, or a unit; the texts `?`, `-` and `n.a.` have none."""

MAX_UNIT, MAX_UNIT_WORD, MAX_UNIT_ALONE = 16, 8, 5
"""Characters of a unit, of a word in it, and of a word in the only unit
of a row or in a table of two columns."""


@dataclass(frozen=True)
class Header:
    """Where the names of columns are.

    Attributes:
        row: the index of their row, or of the first row of data if there are no names.
        names: of the columns; empty without names.
        below: the index of the first row of data.
        units: the texts of the rows between, which hold units.
    """

    row: int
    names: Sequence[str]
    below: int
    units: tuple[str, ...] = ()

    def notes(self, numbers: Sequence[int], noun: str, skipped: int) -> list[str]:
        """Return notes on the rows that are not data.

        Args:
            numbers: the number of each row in the file, from 1.
            noun: what is counted: `line` or `row`.
            skipped: how many of these are above the names.
        """
        lines = f"1 {noun}" if skipped == 1 else f"{skipped} {noun}s"
        where = f" (names in {noun} {numbers[self.row]})" if self.names else ""
        units = [
            f"skipped {noun} {numbers[self.below - k]}, which has units ({shorten(text)})"
            for k, text in zip(range(len(self.units), 0, -1), self.units, strict=True)
        ]
        return [f"skipped {lines} above the table{where}"] * (skipped > 0) + units


def usual_length(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of cells of the rows that have most cells together; one row is none."""
    counts = Counter(map(len, rows))
    repeated = {length: count for length, count in counts.items() if count > 1} or counts
    return max(repeated, key=lambda length: (repeated[length] * length, length))


def is_measured(text: str) -> bool:
    """Whether a text is a number, date or time, perhaps with a unit, not several words."""
    return bool(NUMBER.match(text)) and len(re.findall(r"[^\W\d_]{3,}", text)) < 2


def is_word(text: str) -> bool:
    """Whether a text is a word, not a number, date or mark of a missing value."""
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
    block = _Block.of(rows)
    if header is False:
        is_data = (k for k in possible if block.is_wide(rows[k]) or len(rows[k]) == usual)
        start = next(is_data, possible[0])
        return Header(start, (), start)
    if header is not True:
        return block.header([0, *(k for k in possible if k)], chosen=True)
    start = possible[0]
    if start and is_comment(rows[start - 1]) and any(map(is_number, rows[start])):
        first, *others = rows[start - 1]
        names = [*filter(None, [first.removeprefix(COMMENT).strip()]), *others]
        if len(names) == usual:
            return Header(start - 1, names, start)
    return block.header(possible)


@dataclass(frozen=True)
class _Block:
    """The longest rows of equal length, which are those of the table.

    Attributes:
        rows: all rows.
        width: the number of columns that are filled in most rows of the table.
        measured: the indices of the columns with numbers, dates or times.
        body: the rows of the table from which this is known.
    """

    rows: Sequence[Sequence[str]]
    width: int
    measured: tuple[int, ...]
    body: Sequence[Sequence[str]]

    @classmethod
    def of(cls, rows: Sequence[Sequence[str]]) -> _Block:
        trimmed = [row[: max((k + 1 for k, cell in enumerate(row) if cell), default=0)]
                   for row in rows]  # fmt: skip
        usual = usual_length(trimmed)
        body = [row for row in trimmed if len(row) == usual]
        body = body[len(body) // 2 :]
        filled = [[cell for cell in column if cell] for column in zip(*body, strict=True)]
        common = [k for k, cells in enumerate(filled) if 2 * len(cells) >= len(body)]
        values = {k: sum(map(is_measured, filled[k])) for k in common}
        measured = tuple(k for k in common if 0 < values[k] >= len(filled[k]) / 2)
        return cls(rows, len(common), measured, body)

    def is_wide(self, row: Sequence[str]) -> bool:
        """Whether half of the columns, or more, may have a name in this row."""
        return 2 * sum(map(bool, row)) >= self.width

    def _cells(self, row: Sequence[str]) -> list[str]:
        return [row[k] if k < len(row) else "" for k in self.measured]

    def header(self, possible: Sequence[int], chosen: bool = False) -> Header:
        """Return the header among the possible rows: the first of them, if it is chosen."""
        cells = {k: self._cells(self.rows[k]) for k in possible}
        numbers = {k: sum(map(is_measured, cells[k])) for k in possible}
        wide = [k for k in possible if self.is_wide(self.rows[k])]
        usual = possible[0] if chosen else next(iter(wide), possible[0])
        below = [k for k in wide if k > usual] if chosen else wide
        data = next((k for k in below if numbers[k] > sum(map(is_word, cells[k]))), 0)
        texts = [k for k in wide if k < data and not numbers[k]]
        texts = [usual, *(k for k in texts if k > usual)] if chosen else texts
        hidden = self.width > 2 and self._filled(usual) == self.width and usual not in texts
        if usual == data and usual in wide:  # numbers as names, unless a few names are above
            few = [k for k in possible if k < data and len(self.rows[k]) == len(self.rows[data])]
            usual = [data, *few][-1]
        if not data or not texts or hidden:
            return Header(usual, self.rows[usual], usual + 1)
        first, pairs = data, self.width == 2 and wide.index(data) > 2  # a key and a value
        while len(texts) > 1 and not pairs and self._are_units(texts[-2], texts[-1], first):
            first = texts.pop()
        row = usual if chosen else self._names_of(texts, first)
        if first != row + 1:
            return Header(row, self.rows[row], row + 1)
        units = (", ".join(filter(None, self.rows[k])) for k in range(first, data))
        return Header(row, self.rows[row], data, tuple(units))

    def _names_of(self, texts: Sequence[int], first: int) -> int:
        """Return the first row of different names for all columns; by default, the last row.

        It is also the last if that has words above the numbers of several columns.
        """
        full = [k for k in texts if self._filled(k) >= self.width and self._differ(k)]
        cells = self._cells(self.rows[texts[-1]])
        words = len(cells) > 1 and all(map(is_word, cells)) and not self._recurs(cells)
        if full and not (words and texts[-1] == first - 1 and self._differ(texts[-1])):
            return full[0]
        return texts[-1]

    def _filled(self, index: int) -> int:
        return sum(map(bool, self.rows[index]))

    def _differ(self, index: int) -> bool:
        names = [*filter(None, self.rows[index])]
        return len({*names}) == len(names)

    def _recurs(self, cells: Sequence[str]) -> bool:
        """Whether a column has one of these texts in another row, too."""
        columns = zip(self.measured, cells, strict=True)
        return any(cell and sum(row[k] == cell for row in self.body) > 1 for k, cell in columns)

    def _are_units(self, names: int, units: int, first: int) -> bool:
        """Whether short texts are between names and numbers, and no word is above texts."""
        row, cells = self.rows[units], self._cells(self.rows[units])
        found = [cell for cell in cells if is_word(cell) or _is_bracketed(cell)]
        several = self.width > 2 and len({*found}) > 1
        longest = MAX_UNIT_WORD if several else MAX_UNIT_ALONE
        others = [cell for k, cell in enumerate(row) if k not in self.measured]
        return (
            names + 1 == units == first - 1
            and self._differ(names)
            and self._filled(names) >= self._filled(units)
            and bool(found)
            and 2 * len([*filter(None, cells)]) >= len(cells)
            and all(_is_bracketed(cell) or _is_short(cell, longest) for cell in cells)
            and not any(is_word(cell) and not _is_bracketed(cell) for cell in others)
            and not self._recurs(cells)
        )


def _is_bracketed(text: str) -> bool:
    return bool(re.fullmatch(r"\[.*\]|\(.*\)", text))


def _is_short(text: str, longest: int) -> bool:
    words = re.findall(r"[^\W\d_]+", text)
    return len(text) <= MAX_UNIT and max(map(len, words), default=0) <= longest
