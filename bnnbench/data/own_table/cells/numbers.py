"""Read the cells of text columns: missing values, and numbers in the notation of the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bnnbench.data.own_table.cells.units import split_cells

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "na", "n/a", "nan", "-nan", "null", "none", "#n/a", "#na", "<na>")
"""Strings that mean a missing value, in upper or lower case."""

SPELLINGS = [*dict.fromkeys(f(text) for text in MISSING for f in (str, str.upper, str.title))]
"""`MISSING` in the usual spellings."""

SPELLINGS += ["NaN", "-NaN"]

THOUSANDS = {
    ".": "points", ",": "commas", "'": "apostrophes", "\u2019": "apostrophes", " ": "blanks",
    "\u00a0": "blanks", "\u202f": "blanks",
}  # fmt: skip
"""Marks that may group digits, and their names."""

MARKS = "".join(THOUSANDS)


def grouped_number(marks: str, decimal: str) -> str:
    """Return the pattern of a number with thousands separators, all of which are the same mark."""
    decimal = re.escape(decimal)
    first = rf"([1-9]|0(?=.*{decimal}))\d{{0,2}}"  # 0.125 is not grouped, but 0.125,5 is
    groups = r"(\d{2}(?P=mark))*\d{3}((?P=mark)\d{3})*"  # also those of India: 12,34,567
    return rf"{first}(?P<mark>[{marks}]){groups}({decimal}\d+)?"


def other_marks(decimal: str) -> str:
    """Return the marks that may group digits, given the decimal mark."""
    return MARKS.replace(decimal, "")


def is_number(text: str) -> bool:
    """Whether a string is a finite number."""
    return bool(re.fullmatch(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?", text, re.ASCII))


@dataclass(frozen=True)
class MissingCodes:
    """Values that mean a missing value, in addition to `MISSING`.

    Attributes:
        texts: the values as strings.
        numbers: those that are numbers.
    """

    texts: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Sequence[str | float]) -> MissingCodes:
        texts = tuple(str(value).strip() for value in values)
        numbers = [text for text in texts if is_number(text) and "," not in text]
        return cls(texts, tuple(map(float, numbers)))


def read_cells(
    frame: pd.DataFrame, codes: MissingCodes, missing: Sequence[str] = (), decimal: str = ""
) -> pd.DataFrame:
    """Remove cells that mean a missing value, and convert columns of numbers in text.

    Args:
        frame: as pandas read it.
        codes: values that mean a missing value.
        missing: strings that also do, in lower case.
        decimal: the decimal mark; empty if numbers in text are not converted.
    """
    import pandas as pd

    kinds = pd.api.types

    def read(column: pd.Series) -> pd.Series:
        if kinds.is_bool_dtype(column.dtype) or kinds.is_datetime64_any_dtype(column.dtype):
            return column
        if not kinds.is_numeric_dtype(column.dtype):
            cells = column.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
            small = cells.map(lambda cell: cell.lower() if isinstance(cell, str) else cell)
            column = column.mask(cells.isin([*codes.texts, *codes.numbers]) | small.isin(missing))
            column = _numbers(column, decimal) if decimal else column
        numeric = kinds.is_numeric_dtype(column.dtype) and codes.numbers
        return column.mask(column.isin(codes.numbers)) if numeric else column

    return pd.DataFrame({name: read(column) for name, column in frame.items()}, frame.index)


def _numbers(column: pd.Series, decimal: str) -> pd.Series:
    """Convert a text column to numbers if every cell is one; else return it unchanged.

    Digits may be grouped (1.234.567,5). Numbers with a unit stay strings, with decimal points.
    """
    import pandas as pd

    mark, others = re.escape(decimal), other_marks(decimal)
    plain = rf"(\d+({mark}\d*)?|{mark}\d+)([eE][-+]?\d+)?"
    number = f"(?a:{plain}|{grouped_number(others, decimal)})"

    is_text = column.map(lambda cell: isinstance(cell, str))
    parts = split_cells(column[is_text])
    if not len(parts) == is_text.sum() > 0 or not parts["number"].str.fullmatch(number).all():
        return column
    read = parts["number"].str.replace(f"[{others}]", "", regex=True)
    read = read.str.replace(decimal, ".", regex=False)
    if len(parts) == column.count() and not any(parts["mark"] + parts["unit"]):
        return pd.to_numeric(parts["sign"] + read).reindex(column.index)
    replaced = map(str.replace, parts["text"], parts["number"], read)
    texts = pd.Series([*replaced], parts.index, dtype=object)
    return column.astype(object).where(~is_text, texts)
