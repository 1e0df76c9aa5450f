"""Numbers with a unit, a sign or a limit in the same cell: `12.5 km`, `£5`, `(3.50)`, `<0.01`."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from bnnbench.near_names import list_names
from bnnbench.notes import quantity, shorten

if TYPE_CHECKING:
    import pandas as pd

MIN_SHARE = 0.9
"""Fraction of a column's cells that must have its unit; the others are plain numbers."""

MULTIPLIERS = {"k": 1e3, "K": 1e3, "M": 1e6}
"""Factors that follow a number without a blank: 300 K is a temperature."""

CURRENCIES = re.compile(
    "AED|ARS|AUD|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|Fr|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|KWD|"
    "MXN|MYR|NGN|NOK|NZD|PHP|PKR|PLN|QAR|RMB|RON|RUB|Rs|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR|kr"
)
"""Currencies that letters name; other letters before a number make it a code, such as A1."""

MEASURES = re.compile(
    "[%‰mgLlths]|(?i:pp[mb]|°[cf]|[kcmµun]m|[kcm]?m[23]|mi(le)?|inch|(in|ft)[23]?|foot|feet|yd|"
    "[kmµun]g|lb|oz|[hdcmµ]l|gal|ms|sec|hr|hour|min(ute)?|day|week|month|yr|year|[kmg]?hz|[km]w|"
    "[km]?wh|[km]j|k?cal|[mk]v|ma|[hkm]?pa|m?bar|psi|kn|[mµ]?mol|byte|[kmgt]b|ha|acre|km/h|m/s|mph|"
    "([mµn]?g|m?mol|kg)/(d?l|[cm]?m3))"
)
"""Units that a column mixes by mistake; other texts, as in 4A and 5B, may be parts of codes."""

NOT_UNITS = re.compile(r"(st|nd|rd|th|er|[ap]\.?m)\b.*", re.I)
"""What follows numbers in ordinals and times of day."""

DIGITS_OF_UNITS = re.compile(r"(?<=[mntd])\^?[23](?!\d)|/ ?100 ?(?=k?m)")
"""As in m2, ft^3 and l/100 km; 10x2 is a size."""

MINUS = "\u2212\u2013-"

CELL = re.compile(
    r"(?P<limit>[<>]=?|[≤≥])? ?(?P<about>(~|≈|±|\+/-|(ca|c|approx)\.) ?|(ca|approx|about|circa) )?"
    rf"(?P<sign>[+{MINUS}])?(?P<before>[a-zA-Z]{{1,3}}\.?|[a-zA-Z]{{0,3}}[^\w\s.,<>()+{MINUS}])? ?"
    rf"(?P<inner>[+{MINUS}])?(?P<number>(\d([\d.,'\u2019 ]*\d)?|[.,]\d+)([eE][-+]?\d+)?)"
    rf"(?P<minus>[{MINUS}](?= |$))?(?P<gap> ?)(?P<after>[^\s\d][^():;,_#&!?*=<>+]{{0,19}})?",
    re.ASCII,
)
"""A cell whose blanks are single."""

PARENTHESES = re.compile(r"([^\d()]*)\(([^()]+)\)([^\d()]*)")


@dataclass(frozen=True)
class Quantity:
    """The parts of a cell.

    Attributes:
        text: the cell.
        number: without a sign, in the notation of the cell.
        factor: of the number: a sign, and a multiplier.
        unit: as written, also a currency or percent sign; empty if there is none.
        sign: an unusual sign: `(` or `-` after the number, both for minus, or one such as `~`.
        limit: `<`, `>` or similar; empty if the number is not a limit.
    """

    text: str
    number: str
    factor: float
    unit: str
    sign: str
    limit: str

    @property
    def value(self) -> float:
        """The number, if its decimal mark is a point and nothing groups its digits; else NaN."""
        try:
            return float(self.number) * self.factor
        except ValueError:
            return float("nan")


@dataclass(frozen=True)
class Quantities:
    """The numbers of a column.

    Attributes:
        numbers: NaN where there is no value.
        unit: as most cells that have one write it; empty if none has.
        parts: those of each cell with a value.
    """

    numbers: pd.Series
    unit: str
    parts: Sequence[Quantity]


@lru_cache(maxsize=1 << 17)  # each cell is read several times
def split_quantity(cell: object) -> Quantity | None:
    """Return the parts of a cell, or None if it is not one number with a unit, sign or limit."""
    text = " ".join(cell.split()) if isinstance(cell, str) else ""
    enclosed = PARENTHESES.fullmatch(text)
    found = CELL.fullmatch("".join(enclosed.groups()) if enclosed else text)
    if found is None:
        return None
    before, after, number = found["before"] or "", found["after"] or "", found["number"]
    signs = [*filter(None, (found["sign"], found["inner"], found["minus"], enclosed and "("))]
    is_code = bool(before or after) and re.match(r"0\d", number)
    if len(signs) > 1 or is_code or (before and not is_currency(before)):
        return None
    factor = -1.0 if signs and signs[0] != "+" else 1.0
    if not found["gap"] and after in MULTIPLIERS:
        factor, after = factor * MULTIPLIERS[after], ""
    elif after and not _is_unit(after):
        return None
    sign = "(" if enclosed else (found["minus"] and "-") or found["about"] or ""
    return Quantity(text, number, factor, before + after, sign, found["limit"] or "")


def is_currency(unit: str) -> bool:
    """Whether a unit is a currency."""
    return bool(CURRENCIES.fullmatch(unit.rstrip("."))) or any(
        unicodedata.category(c) == "Sc" for c in unit
    )


def _is_unit(text: str) -> bool:
    first = unicodedata.normalize("NFKC", text)[0]  # the degree sign of ℃
    starts = first.isalpha() or first in "%‰°'\"\u2032\u2033" or is_currency(first)
    digits = re.search(r"[0-9]", DIGITS_OF_UNITS.sub("", text))
    return starts and not digits and not NOT_UNITS.fullmatch(text)


def _key(unit: str) -> str:
    """Return a unit in a spelling to compare: m² is m2, and 2 doors have the unit of 1 door."""
    text = unicodedata.normalize("NFKC", unit).replace("^", "").rstrip(".")
    text = text.casefold() if len(text) > 1 and text[0] not in "mM" else text  # MW is not mW
    return text[:-1] if len(text) > 2 and text.endswith("s") else text


def read_quantities(column: pd.Series, unit: str | None = None) -> Quantities | None:
    """Read the cells of a column as numbers.

    Args:
        column: with decimal points, and without marks that group digits.
        unit: that of a known column of numbers, which cells may lack; None if it is to be found:
            nearly all cells must have it.

    Returns:
        None if a cell is not a number, if there is another unit, or, without `unit`, if the cells
        are probably categories.
    """
    import pandas as pd

    cells = column.dropna()
    parts: dict[object, Quantity] = {}
    for cell in cells.unique():
        part = split_quantity(str(cell))
        if part is None or part.value != part.value:
            return None
        parts[cell] = part
    found = [parts[cell] for cell in cells]
    units = Counter(part.unit for part in found if part.unit)
    if unit is None:
        share = 1.0 if not units else units.total() / len(found)
        accepted = len({*map(_key, units)}) < 2 and share >= MIN_SHARE and _measure(found)
    else:
        accepted = {*map(_key, units)} <= {_key(unit)}
    ambiguous = units and any(abs(part.factor) != 1 for part in found if not part.unit)
    if not accepted or ambiguous:  # 3M among 2B
        return None
    numbers = pd.Series([part.value for part in found], cells.index, dtype=float)
    return Quantities(
        numbers.reindex(column.index), max(units, key=lambda one: units[one], default=""), found
    )


def _measure(parts: Sequence[Quantity]) -> bool:
    """Whether cells are numbers rather than categories: grades (1-) or ranges (<18 and >18)."""
    signs = {part.sign for part in parts}
    plain = {part.number for part in parts if not part.limit}
    limits = any(part.limit for part in parts)
    grades = "-" in signs and all(len(part.number) == 1 for part in parts)
    return bool(parts) and signs != {"("} and not grades and (len(plain) > 1 or not limits)


def mixed_units(strings: pd.Series) -> tuple[str, pd.Series] | None:
    """Return the first unit of a column, and which cells have another one.

    None if the column does not measure in several units.
    """
    cells = strings.dropna()
    parts = {cell: split_quantity(cell) for cell in cells.unique()}
    units = {cell: part.unit for cell, part in parts.items() if part and part.unit}
    if 2 * cells.isin(units).sum() < len(cells):
        return None
    known = all(MEASURES.fullmatch(_key(one)) or is_currency(one) for one in units.values())
    if not known or len({*map(_key, units.values())}) < 2:
        return None
    first = next(iter(units.values()))
    others = [cell for cell, one in units.items() if _key(one) != _key(first)]
    return first, strings.isin(others)


def with_usual_unit(strings: pd.Series) -> pd.Series:
    """Return which cells are numbers with the most frequent unit of their column, or with none."""
    parts = {cell: split_quantity(cell) for cell in strings.unique()}
    units = {cell: _key(part.unit) for cell, part in parts.items() if part}
    usual = ["", *strings.map(units).replace("", None).mode()[:1]]
    return strings.isin([cell for cell, unit in units.items() if unit in usual])


def unit_notes(columns: Iterable[tuple[str, pd.Series]]) -> list[str]:
    """Return a note on the units, multipliers and signs that were read, and one on limits."""
    read: dict[str, list[str]] = {}
    limits: list[str] = []
    for name, column in columns:
        found = read_quantities(column) if column.dtype in (object, "str") else None
        if found is None:
            continue
        if found.unit:
            read.setdefault(f"{shorten(found.unit)!r} off", []).append(name)
        for odd in (lambda part: abs(part.factor) != 1, lambda part: bool(part.sign)):
            example = next((part for part in found.parts if odd(part)), None)
            if example:
                what = f"{example.text!r} as {example.value:g} in"
                read.setdefault(what, []).append(name)
        marks = [part.limit for part in found.parts if part.limit]
        if marks:
            listed = " and ".join(map(repr, dict.fromkeys(marks)))
            limits.append(f"{listed} in {quantity(len(marks), 'cell')} of {name}")
    texts = [f"{what} {list_names(names)}" for what, names in read.items()]
    notes = [f"read {', '.join(texts)}"] if texts else []
    return [*notes, *[f"limits are read as numbers: {', '.join(limits)}"] * bool(limits)]
