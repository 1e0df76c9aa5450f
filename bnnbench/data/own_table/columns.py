"""From the columns of a frame to numbers: what cells may hold, and what becomes of the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

NUMBER, DATES, CATEGORIES = "number", "dates", "categories"
"""Kinds of columns."""

DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})\b")
"""A day, its month, its year: with dots there is no other order. With slashes there are two."""

A_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Encoding:
    """How a column becomes numbers, so that other files can be read alike.

    Attributes:
        column: its name.
        kind: `number`, `dates` or `categories`.
        values: of categories, a column of zeros and ones for each.
    """

    column: str
    kind: str
    values: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        if self.kind == CATEGORIES:
            return tuple(f"{self.column}={value}" for value in self.values)
        return (self.column,)

    def apply(self, cells: pd.Series) -> tuple[np.ndarray, ...]:
        """Its columns of numbers `[N]`, NaN where there is no value; a new word is in none.

        Raises:
            UserError: naming the column, if its cells are of another kind.
        """
        if self.kind == CATEGORIES:
            words = words_of(cells)
            return tuple((words == value).to_numpy(np.float64) for value in self.values)
        found = _plain(cells) if self.kind == NUMBER else _dates(cells)
        if found is None and cells.isna().all():
            found = np.full(len(cells), np.nan)
        if found is None:
            what = "a number" if self.kind == NUMBER else "a date"
            raise UserError(f"column {self.column!r} must hold {what} in every row.")
        return (found,)


def encoding_of(column: pd.Series) -> Encoding:
    """What a column of a file holds: numbers, else dates, else words."""
    name = str(column.name)
    if _plain(column) is not None:
        return Encoding(name, NUMBER)
    if _dates(column) is not None:
        return Encoding(name, DATES)
    return Encoding(name, CATEGORIES, tuple(sorted(words_of(column).dropna().unique())))


def dates_or_numbers(path: Path, column: pd.Series) -> np.ndarray:
    """What rows can be put in order by, `[N]`.

    Raises:
        UserError: if a cell is missing, or neither a number nor a date.
    """
    found = _plain(column)
    found = _dates(column) if found is None else found
    if found is None or np.isnan(found).any():
        raise UserError(
            f"dataset.time: column {column.name!r} of {path} must hold a number or a date "
            "(2024-12-31 or 31.12.2024) in every row."
        )
    return found


def _plain(column: pd.Series) -> np.ndarray | None:
    """Numbers, or true and false as 1 and 0; None if there is anything else."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(np.float64, na_value=np.nan)
    if isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_datetime64_any_dtype(
        column
    ):
        return None
    words = column.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    lower = words.dropna().astype(str).str.lower()
    if len(lower) and lower.isin(["true", "false"]).all():
        return words.map(_truth, na_action="ignore").to_numpy(np.float64, na_value=np.nan)
    numbers = pd.to_numeric(words, errors="coerce")
    if numbers.isna().equals(column.isna()):
        return numbers.to_numpy(np.float64, na_value=np.nan)
    return None


def _truth(cell: object) -> float:
    return float(str(cell).lower() == "true")


def _dates(column: pd.Series) -> np.ndarray | None:
    """Days since 1970; None if a cell is no date."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype):
        return None
    cells = column.astype(object).map(_year_first)
    moments = pd.to_datetime(cells, errors="coerce", format="ISO8601", utc=True)
    if column.isna().all() or not moments.isna().equals(column.isna()):
        return None
    days = moments.dt.tz_localize(None).to_numpy("datetime64[ns]")
    return np.where(np.isnat(days), np.nan, (days - np.datetime64(0, "D")) / A_DAY)


def _year_first(cell: object) -> object:
    """`2.1.2024 08:15` as `2024-01-02 08:15`; anything else as it is."""
    found = DOTTED.match(cell.strip()) if isinstance(cell, str) else None
    if found is None:
        return cell
    day, month, year = found.groups()
    return f"{year}-{month:0>2}-{day:0>2}{found.string[found.end() :]}"


def words_of(column: pd.Series) -> pd.Series:
    """Its cells as text without the blanks around it; gaps stay gaps."""
    return column.astype(object).map(str, na_action="ignore").str.strip()


def is_text(column: pd.Series) -> pd.Series:
    """Which cells of a column of words are no numbers; of one that says it has words, all."""
    import pandas as pd

    words = words_of(column)
    text = words.notna() & pd.to_numeric(words, errors="coerce").isna()
    return text if text.any() else words.notna()
