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

REFUSE, ONEHOT, NUMBERS = "refuse", "onehot", "numbers"

NUMBER, DATES, CATEGORIES = "number", "dates", "categories"
"""Kinds of columns."""

MOST_CATEGORIES = 100

OTHER_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b.*")
"""Dates that are none here: `02.01.2024` is a day in January or in February."""

A_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Policy:
    """What to do with cells that are no numbers.

    Attributes:
        categorical: `refuse`, or `onehot`: a column of zeros and ones for each value.
        dates: `refuse`, or `numbers`: days since the first of January 1970.
    """

    categorical: str = REFUSE
    dates: str = REFUSE


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
            words = _words(cells)
            return tuple((words == value).to_numpy(np.float64) for value in self.values)
        found = _plain(cells) if self.kind == NUMBER else _dates(cells)
        if found is None and cells.isna().all():
            found = np.full(len(cells), np.nan)
        if found is None:
            what = "a number" if self.kind == NUMBER else "a date"
            raise UserError(f"column {self.column!r} must hold {what} in every row.")
        return (found,)


def encoding_of(path: Path, column: pd.Series, policy: Policy) -> Encoding:
    """What a column of a file holds.

    Args:
        path: of the file, for messages.
        column: its cells.
        policy: what to do with dates, and with words.

    Raises:
        UserError: naming the column, and the data row (counted from 1 below the names) of the
            first cell that cannot be used.
    """
    name = str(column.name)
    if _plain(column) is not None:
        return Encoding(name, NUMBER)
    if _dates(column) is not None:
        if policy.dates == REFUSE:
            raise UserError(
                f"dataset.path: column {name!r} of {path} holds dates; dataset.dates=numbers "
                f"counts days, dataset.drop=[{name}] leaves it out."
            )
        return Encoding(name, DATES)
    return _categories(path, column, policy)


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
            "(2024-12-31) in every row."
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
    moments = pd.to_datetime(column.astype(object), errors="coerce", format="ISO8601", utc=True)
    if column.isna().all() or not moments.isna().equals(column.isna()):
        return None
    days = moments.dt.tz_localize(None).to_numpy("datetime64[ns]")
    return np.where(np.isnat(days), np.nan, (days - np.datetime64(0, "D")) / A_DAY)


def _words(column: pd.Series) -> pd.Series:
    return column.astype(object).map(str, na_action="ignore").str.strip()


def _categories(path: Path, column: pd.Series, policy: Policy) -> Encoding:
    import pandas as pd

    name, words = str(column.name), _words(column)
    text = words.notna() & pd.to_numeric(words, errors="coerce").isna()
    first = int(np.flatnonzero(text)[0])
    values = sorted(words.dropna().unique())
    dates = "; dates are read as 2024-12-31" * bool(OTHER_DATE.fullmatch(words.iloc[first]))
    mostly_numbers = text.sum() < words.notna().sum() / 2
    if policy.categorical == REFUSE or mostly_numbers:
        onehot = f"dataset.categorical=onehot makes columns of its {len(values)} values"
        few = not mostly_numbers and len(values) <= MOST_CATEGORIES
        ways = [f"dataset.drop=[{name}] leaves the column out", *([onehot] if few else [])]
        raise UserError(
            f"dataset.path: column {name!r} of {path} holds the text {words.iloc[first]!r} in data "
            f"row {first + 1}; every cell must be a number ({', '.join(ways)}){dates}."
        )
    if len(values) > MOST_CATEGORIES:
        raise UserError(
            f"dataset.categorical: column {name!r} of {path} has {len(values)} values, more than "
            f"{MOST_CATEGORIES}; dataset.drop=[{name}] leaves it out{dates}."
        )
    return Encoding(name, CATEGORIES, tuple(values))
