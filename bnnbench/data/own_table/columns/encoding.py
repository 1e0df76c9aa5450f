"""Convert the columns of a frame to numbers, and rows of another file as those of a known table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.cells.dates import compact_format, date_formats, read_dates, readings
from bnnbench.data.own_table.cells.numbers import (
    MARKS,
    MissingCodes,
    Quantities,
    numbers_in,
    read_cells,
    read_quantities,
    with_usual_unit,
)
from bnnbench.near_names import closest_match, list_first, list_names
from bnnbench.notes import quantity, shorten
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

NUMBER, DATES, CATEGORIES = "number", "dates", "categories"
KINDS = (NUMBER, DATES, CATEGORIES)
"""Column kinds."""

UNDECIDED = "no cell decides the order of day, month and year"
"""Why strings such as 01/02/2024 are not read as dates."""

ANY_NUMBER = re.compile(rf"[-+]?[\d{MARKS}]*\d[\d.,]*([eE][-+]?\d+)?", re.ASCII)
"""A number in any notation: 1,234.5 or 1.234,5 or 1'234.5 or 1 234,5."""


@dataclass(frozen=True)
class Encoding:
    """How a column is converted to numbers, so that other files can be encoded the same way.

    Attributes:
        column: its name.
        kind: `number`, `dates` or `categories`.
        values: the categories, each encoded as a column of zeros and ones.
        unit: that of the numbers, if cells have one: km in `12.5 km`.
        form: of dates, one of `dates.FORMATS`.
    """

    column: str
    kind: str
    values: tuple[str, ...] = ()
    unit: str = ""
    form: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        if self.kind == CATEGORIES:
            return tuple(f"{self.column}={value}" for value in self.values)
        return (self.column,)

    def apply(self, cells: pd.Series) -> tuple[np.ndarray, ...]:
        """Return the encoded columns, `[N]` each, NaN where there is no value.

        A category that is not among `values` is zero in all of them.

        Raises:
            UserError: if the cells are of another kind, or have another unit.
        """
        if self.kind == CATEGORIES:
            strings = as_strings(cells, self.values)
            return tuple((strings == value).to_numpy(np.float64) for value in self.values)
        if cells.isna().all():
            return (np.full(len(cells), np.nan),)
        if self.kind == NUMBER:
            found = _as_quantities(cells, self.unit)
            numbers = found.values if found else None
        else:
            numbers = _as_days(cells, self.form)
        if numbers is None:
            unit = f" in {self.unit!r}" if self.unit else ""
            number = self.kind == NUMBER
            what = f"a number{unit}" if number else "a date"
            texts = as_strings(cells).reset_index(drop=True)
            read = numbers_in(texts, self.unit) if number else read_dates(texts, self.form)
            odd = texts[texts.notna() & read.isna()]
            row, text = next(iter(odd.items()), (0, texts[0]))
            raise UserError(
                f"column {self.column!r} must hold {what} in every row, but it holds "
                f"{shorten(str(text))!r} in data row {row + 1}.",
                setting=self.column,
            )
        return (numbers,)


def infer_encoding(column: pd.Series) -> Encoding:
    """Infer the encoding of a column: numbers if possible, else dates, else categories.

    Dates are categories if no cell decides the order of day and month.
    """
    name, text = str(column.name), is_typed_text(column)
    if not text and (found := _as_quantities(column)):
        if form := compact_format(found.values):
            return Encoding(name, DATES, form=form)
        return Encoding(name, NUMBER, unit=found.unit)
    if not text and len(forms := date_formats(column)) == 1:
        return Encoding(name, DATES, form=forms[0])
    return Encoding(name, CATEGORIES, tuple(sorted(as_strings(column).dropna().unique())))


def is_typed_text(column: pd.Series) -> bool:
    """Whether a column is text by its type, even if its strings look like numbers or dates."""
    import pandas as pd

    return isinstance(column.dtype, pd.CategoricalDtype)


def times_of_rows(path: Path, columns: Sequence[pd.Series]) -> np.ndarray:
    """Return numbers `[N]` that order the rows by the columns of `dataset.time`.

    Rows with equal values of the first column are ordered by the second, and so on.

    Raises:
        UserError: if a cell is missing, or neither a number nor a date.
    """
    numbers: list[np.ndarray] = []
    for column in columns:
        cells = column.astype(object) if is_typed_text(column) else column
        encoding = infer_encoding(cells)
        if encoding.kind == CATEGORIES or cells.isna().any():
            reason = f" ({UNDECIDED})" if len(date_formats(cells)) > 1 else ""
            raise invalid(
                "time",
                "not_ordered",
                f"column {column.name!r} of {path} must hold a number or a date such as "
                f"2024-12-31 in every row{reason}.",
            )
        numbers += encoding.apply(cells)
    return np.unique(np.column_stack(numbers), axis=0, return_inverse=True)[1].ravel()


def _as_quantities(column: pd.Series, unit: str | None = None) -> Quantities | None:
    """Return numbers, with true and false as 1 and 0; None if there is any other text.

    Cells may have one unit: the given one, if it is known.
    """
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        return Quantities(column)
    cells = column.astype(object).map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    if cells.dtype.kind in "mM":  # of dates and durations, whose counts depend on their units
        return None
    lower = cells.dropna().astype(str).str.lower()
    if len(lower) and lower.isin(["true", "false"]).all():
        return Quantities(cells.map(lambda cell: str(cell).lower() == "true", na_action="ignore"))
    numbers = _parsed(cells)
    plain = numbers.isna().equals(column.isna())
    return Quantities(numbers) if plain else read_quantities(cells, unit)


def _parsed(cells: pd.Series) -> pd.Series:
    """Return cells as numbers: NaN for text, infinity for integers that exceed float64."""
    import pandas as pd

    try:
        return pd.to_numeric(cells, errors="coerce")
    except OverflowError:
        whole = cells.astype(str).str.fullmatch(r"[-+]?\d+")
        return pd.to_numeric(cells.mask(whole, cells.astype(str) + ".0"), errors="coerce")


def _as_days(column: pd.Series, form: str) -> np.ndarray | None:
    """Return days since 1970; None if any cell is not a date."""
    moments = read_dates(column, form)
    if not moments.isna().equals(column.isna()):
        return None
    times = moments.dt.tz_localize(None).to_numpy()  # nanoseconds would end in 2262
    return np.where(
        np.isnat(times), np.nan, (times - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    )


def as_strings(column: pd.Series, known: Sequence[str] = ()) -> pd.Series:
    """Return the cells as stripped text; missing values stay missing.

    The number 1.0 becomes 1, unless 1.0 is a known text: pandas reads the codes 1 and 2 as floats
    if there are gaps.
    """

    def as_string(cell: object) -> str:
        text = str(cell).strip()
        is_code = isinstance(cell, float) and cell.is_integer() and text not in known
        return text.removesuffix(".0") if is_code else text

    return column.astype(object).map(as_string, na_action="ignore")


def odd_cells(column: pd.Series) -> tuple[pd.Series, str]:
    """Return which cells prevent a text column from being numbers or dates.

    Args:
        column: with at least one string.

    Returns:
        Which cells those are, and what most of the other cells are: `number` or `date`. If the
        column holds neither, all cells that are not plain numbers, and the empty string. In a typed
        frame, these are all cells with a value.
    """
    if is_typed_text(column):
        return column.notna(), ""
    strings = as_strings(column)
    present, plain = strings.notna(), _parsed(strings).notna()
    number = strings.map(lambda text: isinstance(text, str) and bool(ANY_NUMBER.fullmatch(text)))
    number |= with_usual_unit(strings)
    dates = [(times.notna(), "date") for times in readings(strings).values()]
    kinds = (number, "number"), (plain, "number"), *dates
    for of_kind, kind in kinds:
        odd = present & ~of_kind
        if 0 < odd.sum() < present.sum() / 2:
            return odd, kind
    text = present & ~plain
    return (text if text.any() else present), ""


def encode_rows(
    frame: pd.DataFrame,
    encodings: Sequence[Encoding],
    name: str,
    missing_values: Sequence[str] = (),
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Encode new rows; columns are matched by name.

    Args:
        frame: the new rows.
        encodings: the encodings of the known table's columns.
        name: the file, for messages.
        missing_values: numbers and strings that mean a missing value, besides `numbers.MISSING`.

    Returns:
        Inputs `[M, D]`, NaN where there is no value; whether a row has an unknown category, `[M]`;
        and warnings, a sentence each.

    Raises:
        UserError: if a column is missing or holds values of another kind.
    """
    import pandas as pd

    missing = [one.column for one in encodings if one.column not in frame]
    if missing:
        close = closest_match(missing[0], frame)
        hint = f" (it has {shorten(close)!r})" if close else ""
        several = len(missing) > 1
        raise UserError(
            f"{name} lacks the column{'s' * several} {list_names(missing)}{hint}; the model was "
            f"fitted with {'them' if several else 'it'}.",
            setting=missing[0],
            code="missing_column",
        )
    frame = read_cells(frame[[one.column for one in encodings]], MissingCodes.of(missing_values))
    columns: list[np.ndarray] = []
    plain = [
        f"{shorten(one.column)} in {shorten(one.unit)!r}"
        for one in encodings
        if one.unit and pd.to_numeric(frame[one.column], errors="coerce").notna().any()
    ]
    for one in encodings:
        try:
            columns += one.apply(frame[one.column])
        except UserError as error:
            raise UserError(f"{name}: {error}", error.setting, error.code) from None
    inputs = np.column_stack(columns)
    if np.isinf(inputs).any():
        raise UserError(f"{name} holds infinite numbers; correct them.", code="infinite")
    unknown, warnings = _unknown_words(frame, encodings, name)
    if plain:
        warnings.insert(0, f"{name}: numbers without a unit are read as {list_first(plain)}")
    if gaps := int(np.isnan(inputs).sum()):
        cells = "1 cell has" if gaps == 1 else f"{gaps} cells have"
        filled = "no value and will be filled with the mean of the training rows"
        warnings.append(f"{name}: {cells} {filled}")
    return inputs, unknown, warnings


def _unknown_words(
    frame: pd.DataFrame, encodings: Sequence[Encoding], name: str
) -> tuple[np.ndarray, list[str]]:
    unknown, held, gaps = np.zeros(len(frame), bool), [], []
    for one in (one for one in encodings if one.kind == CATEGORIES):
        words = as_strings(frame[one.column], one.values).reset_index(drop=True)
        new = words[words.notna() & ~words.isin(one.values)]
        unknown[new.index] = True
        first = new.drop_duplicates()
        if len(first):
            listed = [f"{shorten(word)} (row {k + 1})" for k, word in first.head(3).items()]
            others = " and others" * (len(first) > 3)
            held.append(f"{one.column} holds {', '.join(listed)}{others}")
        if words.isna().any():
            gaps.append(f"{quantity(int(words.isna().sum()), 'row')} of {one.column}")
    new_words = "which the original table does not contain; they are encoded as zeros"
    warnings = [f"{name}: {list_first(held)}, {new_words}"] if held else []
    if gaps:
        warnings.append(f"{name}: no value in {list_first(gaps)}, encoded as zeros")
    return unknown, warnings
