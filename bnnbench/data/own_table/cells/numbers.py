"""Read numbers in cells: missing values, digits in the notation of the file, units and limits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.near_names import list_names
from bnnbench.notes import shorten

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

MIN_SHARE = 0.9
"""Fraction of a column's cells that must have its unit; the others are plain numbers."""

SIGN, CURRENCY_SIGN = "[+\u2212\u2013-]", "$¢-¥฿₠-⃀"

CURRENCY = re.compile(
    rf"[A-Za-z]{{0,3}}[{CURRENCY_SIGN}]|(?:AED|ARS|AUD|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|Fr|GBP|"
    "HKD|HUF|IDR|ILS|INR|JPY|KRW|KWD|MXN|MYR|NGN|NOK|NZD|PHP|PKR|PLN|QAR|RMB|RON|RUB|Rs|SAR|SEK|"
    r"SGD|THB|TRY|TWD|UAH|USD|VND|ZAR|kr)\.?"
)
"""Currencies; other letters before a number make it a code, such as A1."""

MEASURE = re.compile(
    "[%‰mgltshkM]|pp[mb]|°[cf]|[kcmμun]?m[23]?|mil|inch|(in|ft|yd)[23]?|foot|feet|[kmμun]?g|lb|oz|"
    "[hdcmμ]l|gal|ms|sec|hr|hour|min(ut)?|day|week|month|yr|year|[kmg]?hz|[km]?wh?|k?j|k?cal|[mk]?v|"
    "ma|[hkm]?pa|m?bar|psi|[kmgt]b|ha|acre?|km/h|m/s|mph|([mμn]?g|m?mol|kg)/(d?l|[cm]?m3)",
    re.IGNORECASE,
)
"""Units that a column may mix by mistake; other strings, as in 4A and 5B, may belong to codes."""

MULTIPLIER = re.compile(r"\W*[kKMB]")
"""Magnitudes such as that of `5k`; plain numbers in the column have another one."""

CELL = (
    rf"(?P<limit>[<>]=?|[≤≥~≈])?\s?(?P<sign>{SIGN})?(?P<before>(?![0-9.])(?:{CURRENCY.pattern}))?\s?"
    rf"(?P<inner>(?(sign)(?!)|{SIGN}))?(?!0[0-9][0-9.,]*\s?(?![eE][-+0-9])[^\W\d_])"  # code: 007 X
    r"(?P<number>[.,]?[0-9](?:[0-9.,'\u2019\s]*[0-9.,])?(?:[eE][-+]?[0-9]+)?)\s?"
    r"(?P<after>(?!(?i:st|nd|rd|th|er|[ap]\.?m)\b)"  # no ordinals and times of day
    rf"(?:[^\W\d_]|[/%‰°'\"\u2032\u2033℃℉{CURRENCY_SIGN}])"
    r"(?:[^0-9:;,_#&!?*=<>+]|(?<=[mntd^])[23](?![0-9])|(?<=/)100(?=\s?k?m)){0,19})?"
)
"""A cell; a parenthesis before the number is a minus."""


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


@dataclass(frozen=True)
class Quantities:
    """The numbers of a column.

    Attributes:
        numbers: NaN where there is no value.
        unit: in its most frequent spelling; empty if no cell has one.
    """

    numbers: pd.Series
    unit: str = ""

    @property
    def values(self) -> np.ndarray:
        """The numbers as an array `[N]`."""
        return np.asarray(self.numbers.to_numpy(np.float64, na_value=np.nan))


def split_cells(cells: pd.Series) -> pd.DataFrame:
    """Return the parts of those cells that are one number.

    They are its `text`; a `mark` that is the limit, or a parenthesis for minus; the `sign`, a minus
    or empty; the `number` in the notation of the cell; the `unit`, also a currency or percent sign;
    and its `key`, which is the same for m² and m2, and for 1 door and 2 doors.
    """
    import pandas as pd

    texts = cells.dropna().map(lambda cell: str(cell).strip())
    found = {text: parts for text in texts.unique() if (parts := _split(text))}
    columns = ["text", "mark", "sign", "number", "unit", "key"]
    frame = pd.DataFrame([*found.values()], [*found], columns, dtype="str")
    kept = texts[texts.isin(found)]
    return frame.loc[kept].set_axis(kept.index)


@lru_cache(maxsize=1 << 14)
def _split(text: str) -> tuple[str, ...] | None:
    """Return the parts of a cell as in `split_cells`; None if it is not one number."""
    opened = "(" in text
    found = re.fullmatch(CELL, text.replace("(", "-").replace(")", ""))
    if not found or opened != (")" in text):
        return None
    part = found.groupdict("")
    sign = "-" if part["sign"] + part["inner"] in ("-", "\u2212", "\u2013") else ""
    unit = part["before"] + part["after"]
    return text, "(" if opened else part["limit"], sign, part["number"], unit, _key(unit)


def _key(unit: str) -> str:
    text = unicodedata.normalize("NFKC", unit).replace("^", "").rstrip(".")
    if len(text) > 1:
        first = text[0] if text[0] == "M" else text[0].casefold()  # MW is not mW
        text = first + text[1:].casefold()
    return re.sub(r"(?<=\w\w)s$|(?<=\w{3})e[sn]?$", "", text)


def numbers_in(cells: pd.Series, unit: str) -> pd.Series:
    """Return cells as numbers in this unit, which may be omitted; NaN for other units.

    Decimal marks must be points, and nothing may group digits.
    """
    return _values(split_cells(cells), unit).reindex(cells.index)


def _values(parts: pd.DataFrame, unit: str) -> pd.Series:
    import pandas as pd

    plain = [] if MULTIPLIER.fullmatch(unit) and any(parts["key"]) else [""]
    numbers = pd.to_numeric(parts["sign"] + parts["number"], errors="coerce").astype(float)
    return numbers.where(parts["key"].isin([_key(unit), *plain]))


def read_quantities(column: pd.Series, unit: str | None = None) -> Quantities | None:
    """Read the cells of a column as numbers; see `numbers_in` for their notation.

    Args:
        column: the cells.
        unit: that of a known column of numbers, which cells may lack; None if it is to be found:
            nearly all cells must have it.

    Returns:
        None if a cell is not a number, if there is another unit, or, without `unit`, if the cells
        are probably categories: `<18` and `>18`, or `(1)` and `(2)`.
    """
    parts = split_cells(column)
    units = parts["unit"][parts["unit"] != ""]
    usual = next(iter(units.value_counts().index), "")
    numbers = _values(parts, usual if unit is None else unit)
    if parts.empty or numbers.count() < column.count():
        return None
    exact = parts["mark"].isin(["", "("])
    limits_only = not exact.all() and parts["number"][exact].nunique() < 2
    categories = limits_only or all(parts["mark"])
    if unit is None and (categories or 0 < len(units) < MIN_SHARE * len(parts)):
        return None
    return Quantities(numbers.reindex(column.index), usual)


def mixed_units(strings: pd.Series) -> tuple[str, np.ndarray] | None:
    """Return the first unit of a column, and which cells have another one.

    None if the column does not measure in several units.
    """
    parts = split_cells(strings)
    parts = parts[parts["unit"] != ""]
    names = parts["unit"].unique()
    known = all(MEASURE.fullmatch(_key(one)) or CURRENCY.fullmatch(one) for one in names)
    if not known or len({*map(_key, names)}) < 2 or 2 * len(parts) < strings.count():
        return None
    return names[0], strings.index.isin(parts.index[parts["key"] != _key(names[0])])


def with_usual_unit(strings: pd.Series) -> pd.Series:
    """Return which cells are numbers with the most frequent unit of their column, or with none."""
    keys = split_cells(strings)["key"]
    return keys.reindex(strings.index).isin(["", *keys[keys != ""].value_counts().index[:1]])


def unit_notes(columns: Iterable[tuple[str, str, pd.Series]]) -> list[str]:
    """Return a note on the units, signs and limits that were read, if there are any.

    Args:
        columns: name, unit and cells of each column of numbers.
    """
    read: dict[str, list[str]] = {}
    for name, unit, column in columns:
        if unit:
            read.setdefault(f"{shorten(unit)!r} off", []).append(name)
        if column.dtype in (object, "str"):
            parts = split_cells(column[column.astype("str").str.contains(r"[(<>≤≥~≈]")])
            parts["value"] = _values(parts, unit)
            for _, first in parts.drop_duplicates("mark").iterrows():
                read.setdefault(f"{first['text']!r} as {first['value']:g} in", []).append(name)
    texts = [f"{what} {list_names(names)}" for what, names in read.items()]
    return [f"read {', '.join(texts)}"] * bool(texts)
