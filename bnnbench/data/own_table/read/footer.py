"""Find the rows below the data of a table: totals, means and other statistics, and notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.data.own_table.cells.numbers import other_marks
from bnnbench.data.own_table.read.names import is_measured, is_word
from bnnbench.notes import quantity, shorten

if TYPE_CHECKING:
    import pandas as pd

MAX_FOOTER_ROWS, SAMPLE_ROWS = 12, 200
"""Rows of a footer, and rows above it that show the kinds of columns."""

MAX_CHANCE, MAX_CHANCE_WITH_WORD, MIN_SHARE = 1e-3, 0.05, 0.01
"""Probability that a measurement agrees with a statistic of the rows above as well as a row does,
below which the row is this statistic; the same if a word is among numbers; and the probability of
a string unlike those above, or of more empty cells than in every row above."""

STATISTICS = "mean", "total", "standard deviation", "minimum", "maximum"

DATA, UNSURE, NOTE = "data", "row that is not data", "note"
"""Kinds of a row besides `STATISTICS`. An UNSURE row next to a certain one is not data."""

NOTES = (
    re.compile(r"^([*†‡§©¹²³]|\d+\)\s*\w)"),
    re.compile(r"[^\W\d]\s*:"),
    re.compile(r"[^\W\d]\s+[^\W\d]"),
)
"""Signs of a note: a footnote mark, a colon, or two words. A string with one of them that no string
above it has is a note; next to numbers, two words do not suffice."""


def footer_note(kinds: Sequence[str], where: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a note on the rows of a footer, given their cells and the place of the first."""
    labels = [next(filter(is_word, cells), next(filter(None, cells), "")) for cells in rows]
    pairs = zip(kinds, labels, strict=True)
    found = ", ".join(f"a {kind} ({shorten(label)})" for kind, label in pairs if label)
    return f"left out {quantity(len(rows), 'row')} below the data from {where} on: {found}"


def without_footer(
    frame: pd.DataFrame, decimal: str, place: Callable[[int], str]
) -> tuple[pd.DataFrame, list[str]]:
    """Drop the rows below the data, and return notes on them.

    Args:
        frame: the rows of the file, as text or numbers.
        decimal: its decimal mark.
        place: returns the place in the file of the row with an index.
    """
    frame, end = _without_empty_end(frame)
    kinds = _find_footer(frame, decimal)
    if not kinds:
        return frame, end
    start = len(frame) - len(kinds)
    note = footer_note(kinds, place(start), _texts(frame.tail(len(kinds))))
    frame, end = _without_empty_end(frame.head(start))
    return frame, [note, *end]


def _without_empty_end(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Drop empty rows at the end, and return a note about them."""
    filled = np.flatnonzero(frame.notna().any(axis=1))
    rows = int(filled[-1]) + 1 if len(filled) else 0
    dropped = len(frame) - rows
    note = f"dropped {quantity(dropped, 'empty row')} at the end"
    return frame.head(rows), [note] * bool(dropped)


def _find_footer(frame: pd.DataFrame, decimal: str) -> list[str]:
    """Return the kinds of the last rows that are not data."""
    most = min(MAX_FOOTER_ROWS, len(frame) // 2)
    last = _texts(frame.tail(1))
    if not most or (all(last[0]) and not any(map(is_word, last[0]))):
        return []
    table = _Rows.of(frame, decimal, most)
    for start in range(-most, 0):
        kinds = [table.kind(row, start) for row in range(start, 0)]
        # In a doubling series, each row is about the total of those above.
        series = start > -most and table.kind(start - 1, start - 1)[1]
        if any(sure for _, sure in kinds) and not series and all(kind != DATA for kind, _ in kinds):
            return [kind for kind, _ in kinds]
    return []


def _texts(rows: pd.DataFrame) -> list[list[str]]:
    """Return the cells of rows as stripped strings, empty where there is no value."""
    cells = rows.astype(object).where(rows.notna(), "").to_numpy().tolist()
    return [[str(cell).strip() for cell in row] for row in cells]


def _as_numbers(column: pd.Series, decimal: str) -> np.ndarray:
    """Return the numbers of a column in the notation of the file, NaN for other cells."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column.dtype):
        texts = column.map(str, na_action="ignore").astype(object).astype("str")
        plain = texts.str.replace(f"[{re.escape(other_marks(decimal))}]", "", regex=True)
        column = pd.to_numeric(plain.str.replace(decimal, "."), errors="coerce")
    numbers = column.to_numpy(np.float64, na_value=np.nan)
    return np.where(np.isinf(numbers), np.nan, numbers)


@lru_cache(maxsize=1 << 14)
def _unit(number: float) -> float:
    """Return the value of the last decimal of a number: 0.01 for 2.25."""
    return float(10.0 ** -len(np.format_float_positional(number, trim="-").partition(".")[2]))


@dataclass(frozen=True)
class _Rows:
    """The rows of a file, the last of which may be a footer.

    Attributes:
        tail: the strings of the last rows, in order.
        above: the strings of each column in some rows above.
        filled: the smallest number of filled cells in these rows.
        numbers: `[N]` of each column that holds numbers, dates or times by its index, NaN where
            there is no number.
    """

    tail: list[list[str]]
    above: list[list[str]]
    filled: int
    numbers: dict[int, np.ndarray]

    @classmethod
    def of(cls, frame: pd.DataFrame, decimal: str, most: int) -> _Rows:
        sample = _texts(frame.head(len(frame) - most).tail(SAMPLE_ROWS))
        above = [[*filter(None, column)] for column in zip(*sample, strict=True)]
        measured = [k for k, c in enumerate(above) if 2 * sum(map(is_measured, c)) > len(c)]
        numbers = {k: _as_numbers(frame.iloc[:, k], decimal) for k in measured}
        return cls(_texts(frame.tail(most)), above, min(sum(map(bool, r)) for r in sample), numbers)

    def kind(self, row: int, start: int) -> tuple[str, bool]:
        """Return the kind of a row if the footer starts at `start`, and whether it is certain.

        Both are counted from the end of the file, as negative numbers.
        """
        cells = self.tail[row]
        present = {k: cell for k, cell in enumerate(cells) if cell}
        if not present:
            return DATA if row == start else UNSURE, False
        new = {
            k: cell
            for k, cell in present.items()
            if cell not in self.above[k] and not (k in self.numbers and is_measured(cell))
        }
        odd = {k for k, cell in new.items() if k in self.numbers and is_word(cell)}
        has_gaps = len(present) < self.filled
        values = {k: float(c[row]) for k, c in self.numbers.items() if np.isfinite(c[row])}
        signs = NOTES[:2] if values else NOTES
        if (odd or has_gaps) and any(self._is_note(*item, signs) for item in new.items()):
            return NOTE, True
        if not values:
            alone = has_gaps and odd == {*present}
            return NOTE if alone else UNSURE if odd or has_gaps else DATA, alone
        if not new and not has_gaps:
            return DATA, False
        chances = np.array([_chances(v, self.numbers[k][:start]) for k, v in values.items()])
        rare = MIN_SHARE ** (has_gaps + any(self._is_unlike(*item) for item in new.items()))
        certain, possible = rare * chances[:, :3].min(1).prod(), rare * chances.min(1).prod()
        limit = MAX_CHANCE_WITH_WORD if odd else MAX_CHANCE
        kind = STATISTICS[int(chances[0].argmin())]
        return kind if possible < limit else UNSURE if odd else DATA, bool(certain < limit)

    def _is_note(self, column: int, text: str, signs: Sequence[re.Pattern[str]]) -> bool:
        """Whether a string has a sign of a note that no string above it has."""
        return any(s.search(text) and not any(map(s.search, self.above[column])) for s in signs)

    def _is_unlike(self, column: int, text: str) -> bool:
        """Whether a new string is below categories, or one without digits below numbered keys."""
        if column in self.numbers:
            return is_word(text)
        above = self.above[column]
        has_digit = re.compile(r"\d").search
        keys = all(map(has_digit, above)) and not has_digit(text)
        return keys or 2 * len({*above}) <= len(above)


def _chances(value: float, column: np.ndarray) -> np.ndarray:
    """Return the share of values `[N]` that are as near to each of `STATISTICS` as a number is.

    Infinity if the number is far from it. The share is smaller for a total outside the range of the
    values, with which few numbers agree.
    """
    above = column[np.isfinite(column)]
    if len(above) < 3:
        return np.full(len(STATISTICS), np.inf)
    count, low, high = len(above), above.min(), above.max()
    found = np.array([above.mean(), above.sum(), above.std(ddof=1), low, high])
    half, error = _unit(value) / 2, np.abs(value - found)
    unit = min(map(_unit, np.unique(above[-SAMPLE_ROWS:])))
    spread = unit * np.sqrt(count)  # of a total of rounded values
    allowed = half + 1e-9 * np.abs(found) + spread / np.array([count, 1, count, count, count])
    near = np.maximum(error, half)
    share = np.array([np.sum(np.abs(above - f) <= n) for f, n in zip(found, near, strict=True)])
    outside = (found < low) | (found > high)
    rare = np.where(outside, np.minimum(near / np.maximum(np.abs(found), near), 1), 1)
    return np.where(error > allowed, np.inf, np.maximum(share, 1) / count * rare)
