"""Find the rows below the data of a table: totals, means and other statistics, and notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.cells import other_marks
from bnnbench.data.own_table.columns import odd_cells
from bnnbench.data.own_table.header import is_measured, is_word
from bnnbench.notes import shorten

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

MAX_FOOTER_ROWS = 12
"""Rows of a footer; at least as many rows of data are above it."""

SAMPLE_ROWS = 200
"""Rows above a footer that show the kinds of columns."""

MAX_CHANCE, MAX_CHANCE_IN_FOOTER, MAX_CHANCE_WITH_WORD = 1e-3, 0.02, 0.5
"""Probability that a measurement agrees with a statistic of the rows above as well as a row does,
below which the row is this statistic; below another such row; and with a word among numbers."""

MIN_SHARE = 0.01
"""Probability of a text of a new kind, or of more empty cells than in every row above."""

STATISTICS = "total", "mean", "minimum", "maximum", "standard deviation", "number of rows"

DATA, UNSURE, NOTE = "data", "row that is not data", "note"
"""Kinds of a row besides `STATISTICS`. A row that is UNSURE is no data below a certain one."""


def footer_note(rows: Sequence[tuple[str, str, Sequence[str]]]) -> str:
    """Return a note on the rows of a footer: the kind, the place, and the cells of each row."""
    found = [(kind, where, [*filter(None, cells)]) for kind, where, cells in rows if any(cells)]
    return "left out below the data: " + "; ".join(
        f"{where}, a {kind} ({shorten(next(filter(is_word, cells), cells[0]))})"
        for kind, where, cells in found
    )


def find_footer(frame: pd.DataFrame, decimal: str) -> list[str]:
    """Return the kinds of the last rows that are not data.

    Such a row has a word where the rows above have numbers, its numbers are a statistic of those
    above, or all of its cells but one are empty.

    Args:
        frame: the rows of the file, as text or numbers.
        decimal: its decimal mark.
    """
    most = min(MAX_FOOTER_ROWS, len(frame) // 2)
    last = _texts(frame.tail(1))
    if not most or (all(last[0]) and not any(map(is_word, last[0]))):
        return []
    table = _Rows.of(frame, decimal, most)
    for start in range(len(frame) - most, len(frame)):
        if table.kind(start, start)[1]:
            kinds = [table.kind(row, start) for row in range(start, len(frame))]
            # In a doubling series, each row is about the total of those above.
            series = start > len(frame) - most and table.kind(start - 1, start - 1)[1]
            if not series and all(kind != DATA for kind, _ in kinds):
                return [kind for kind, _ in kinds]
    return []


def _texts(rows: pd.DataFrame) -> list[list[str]]:
    """Return the cells of rows as stripped texts, empty where there is no value."""
    cells = rows.astype(object).where(rows.notna(), "").to_numpy().tolist()
    return [[str(cell).strip() for cell in row] for row in cells]


def _as_numbers(column: pd.Series, decimal: str) -> np.ndarray:
    """Return the numbers of a column in the notation of the file, NaN for other cells."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column.dtype):
        texts = column.map(str, na_action="ignore").astype(object).astype("str")
        plain = texts.str.replace(f"[{re.escape(other_marks(decimal))}]", "", regex=True)
        column = pd.to_numeric(plain.str.replace(decimal, "."), errors="coerce")
    return column.to_numpy(np.float64, na_value=np.nan)


def _unit(number: float) -> float:
    """Return the value of the last decimal of a number: 0.01 for 2.25."""
    return float(10.0 ** -len(np.format_float_positional(number, trim="-").partition(".")[2]))


@dataclass(frozen=True)
class _Rows:
    """The rows of a file, of which the last may be a footer.

    Attributes:
        tail: the texts of the last rows, the last one last.
        above: the texts of each column in some rows above.
        filled: the number of filled cells of these rows.
        measured: whether each column holds numbers, dates or times.
        numbers: `[N, C]`, NaN where there is no number.
    """

    tail: list[list[str]]
    above: list[list[str]]
    filled: list[int]
    measured: list[bool]
    numbers: np.ndarray

    @classmethod
    def of(cls, frame: pd.DataFrame, decimal: str, most: int) -> _Rows:
        sample = _texts(frame.head(len(frame) - most).tail(SAMPLE_ROWS))
        above = [[*filter(None, column)] for column in zip(*sample, strict=True)]
        measured = [2 * sum(map(is_measured, c)) > len(c) for c in above]
        numbers = np.full(frame.shape, np.nan)
        for k in np.flatnonzero(measured):
            column = _as_numbers(frame.iloc[:, k], decimal)
            numbers[:, k] = np.where(np.isinf(column), np.nan, column)
        filled = [sum(map(bool, row)) for row in sample]
        return cls(_texts(frame.tail(most)), above, filled, measured, numbers)

    def kind(self, row: int, start: int) -> tuple[str, bool]:
        """Return the kind of a row if the footer starts at `start`, and whether it is certain."""
        cells = self.tail[row - len(self.numbers)]
        new = [k for k, cell in enumerate(cells) if cell and cell not in self.above[k]]
        texts = [k for k in new if not (self.measured[k] and is_measured(cells[k]))]
        words = [k for k in texts if is_word(cells[k]) or not self.measured[k]]
        filled, odd = sum(map(bool, cells)), {cells[k] for k in words if self.measured[k]}
        if not filled:
            return UNSURE, False
        unlike = any(self._is_unlike(k, cells[k]) for k in words)
        if not np.isfinite(self.numbers[row]).any():
            alone = unlike and 3 * filled <= max(3, min(self.filled))
            return (NOTE, True) if alone or len(odd) > 1 else (UNSURE if odd else DATA, False)
        has_gaps = filled < min(self.filled)
        if not texts and not has_gaps:
            return DATA, False
        chances, is_far = self._compare(row, start)
        best = int(np.argmin(chances))
        if odd:
            known = chances[best] < MAX_CHANCE_WITH_WORD
            return (STATISTICS[best] if known else NOTE if is_far else UNSURE), known or is_far
        chance = chances[best] * (MIN_SHARE if unlike else 1) * (MIN_SHARE if has_gaps else 1)
        kind = STATISTICS[best] if chance < MAX_CHANCE_IN_FOOTER else DATA
        return kind, bool(chance < MAX_CHANCE)

    def _is_unlike(self, column: int, text: str) -> bool:
        """Whether a new text differs from those above in its kind, not only in its letters."""
        above = self.above[column]
        digits = all(re.search(r"\d", cell) for cell in above) and not re.search(r"\d", text)
        repeated = 2 * len({*above}) <= len(above)
        longer = len(text) > max(map(len, above), default=0)
        return self.measured[column] or digits or repeated or longer

    def _compare(self, row: int, start: int) -> tuple[np.ndarray, bool]:
        """Compare the numbers of a row with those of the rows before `start`.

        Returns:
            The probability of a measurement that agrees as well with each of `STATISTICS`, infinity
            if a number does not; and whether most numbers are far from those of their column.
        """
        used = np.isfinite(self.numbers[row]) & (np.isfinite(self.numbers[:start]).sum(0) > 2)
        if not used.any():
            return np.full(len(STATISTICS), np.inf), False
        values, above = self.numbers[row, used], self.numbers[:start, used]
        pairs = zip(values, above.T, strict=True)
        chances = np.array(
            [_chances(value, column[np.isfinite(column)]) for value, column in pairs]
        )
        mixed = 2 * chances[:, :2].min(1).prod()  # totals of some columns, means of others
        chance = chances.prod(0)
        chance[0] = min(chance[0], mixed)
        low, high = np.nanmin(above, 0), np.nanmax(above, 0)
        is_far = np.maximum(low - values, values - high) > high - low
        return chance, bool(2 * is_far.sum() >= len(is_far))


def _chances(value: float, above: np.ndarray) -> np.ndarray:
    """Return the share of values `[N]` as near to each of `STATISTICS` as one is; infinity if far.

    It is smaller for a statistic outside the range of the values, with which few numbers agree.
    """
    count, last = len(above), above[-SAMPLE_ROWS:]
    low, high, total = above.min(), above.max(), above.sum()
    found = np.array([total, total / count, low, high, above.std(ddof=1), count])
    half, error = _unit(value) / 2, np.abs(value - found)
    spread = min(map(_unit, last)) * np.sqrt(count)  # of a total of rounded values
    allowed = half + 1e-9 * np.abs(found) + spread * np.array([1, *[1 / count] * 5])
    near = np.maximum(error, half)
    share = np.array([np.sum(np.abs(above - f) <= n) for f, n in zip(found, near, strict=True)])
    outside = (found < low) | (found > high)
    rare = np.where(outside, np.minimum(near / np.maximum(np.abs(found), near), 1), 1)
    steps = np.diff(last)
    numbers_rows = np.ptp(steps) == 0 and value - last[-1] == steps[0] != 0
    otherwise = 1.0 if numbers_rows else np.inf
    return np.where(error > allowed, otherwise, np.maximum(share, 1) / count * rare)


def check_last_rows(path: Path, frame: pd.DataFrame) -> None:
    """Raise `UserError` if words are among numbers or dates in the last rows only.

    They may be a footer or mean missing values. Shorter texts, such as `?`, do mean these.
    """
    for name, column in frame.items():
        texts = [cell if isinstance(cell, str) else "" for cell in column.tail(MAX_FOOTER_ROWS)]
        words = [*takewhile(re.compile(r"\D*[^\W\d_]{3}").match, reversed(texts))]
        odd, kind = odd_cells(column) if words else ([], "")
        count = int(np.sum(odd))
        if kind and count <= len(words) and all(odd[-count:]):
            rows = "the last row" if count == 1 else f"the last {count} rows"
            raise invalid(
                "path",
                "last_rows",
                f"column {shorten(str(name))!r} of {path} holds a {kind} in every row but {rows} "
                f"({', '.join(map(repr, map(shorten, words[:count][::-1])))}); delete {rows} if "
                "that is no data, or leave the cell empty if its value is missing.",
            )
