"""Read dates in the notation of a column, whose cells decide the order of day, month and year."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

COMMON = (
    "%Y-%m-%d", "%Y.%m.%d", "%d.%m.%Y", "%Y-%m", "%m-%Y", "%G-W%V-%u",
    "%Y-M%m-%d", "%d-M%m-%Y", "M%m-%d-%Y", "%Y-M%m", "M%m-%Y", "%YM%m",
)  # fmt: skip
"""Formats with one order, as `_normal` writes them: M is followed by the number of a month that the
cell names. Dates with dots and a year of four digits always start with the day or the year."""

FORMATS = {
    "": (),
    "dmy": ("%d-%m-%Y", "%d-%m-%y", "%d.%m.%y", "%d-M%m-%y"),
    "mdy": ("%m-%d-%Y", "%m-%d-%y", "M%m-%d-%y"),
    "ymd": ("%y-%m-%d", "%y.%m.%d", "%y-M%m-%d"),
    "my": ("M%m-%y",),
}
"""Formats of each order of day, month and year, besides `COMMON`."""

COMPACT = {6: "%Y%m", 8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
"""Formats of dates that are written as whole numbers, by their number of digits."""

MIN_COMPACT_DATES = 10
"""Different whole numbers, all of which must be dates; one in eight is a year and a month by
chance."""

FIRST_YEAR, LAST_YEAR = 1500, 2100
"""Years that numbers may mean."""

MIN_SPAN_RATIO = 3.0
"""The year comes first, or does not, if dates then span a period that is shorter by this factor."""

LANGUAGES = "en de fr es it pt nl da nb sv fi pl cs hu ro tr id"
"""Of names of months; no name is that of another month in another of these languages."""

CLOCK = re.compile(
    r"[T,\s]+(?P<hour>\d{1,2})[:.](?P<minute>\d{2})([:.](?P<second>\d{2}([.,]\d+)?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(uhr|h|z|utc|gmt)?$",
    re.IGNORECASE | re.ASCII,
)
"""A time of day after a date."""

ONE_DAY = np.timedelta64(1, "D")


def possible_orders(column: pd.Series) -> tuple[str, ...]:
    """Return the orders of day, month and year in which all cells are dates.

    Args:
        column: of texts or dates.

    Returns:
        Keys of `FORMATS`: none if the cells are not dates, several if no cell decides, and only
        the empty text if the notation has one order.
    """
    cells = column.dropna()
    if cells.empty or cells.dtype.kind in "biufc":
        return ()
    if read_dates(cells.iloc[:1], "").isna().all() and not _normal(_day(str(cells.iloc[0]))):
        return ()
    some = cells.iloc[:: max(1, len(cells) // 20)]  # most orders already fail there
    orders = [order for order in FORMATS if read_dates(some, order).notna().all()]
    read = {order: times for order in orders if (times := read_dates(cells, order)).notna().all()}
    if "" in read:
        return ("",)
    if "my" in read:
        return ("my",) if _names_years(cells, read["my"]) else ()
    spans = {order: times.max() - times.min() for order, times in read.items()}
    others = [span for order, span in spans.items() if order != "ymd"]
    if "ymd" in spans and others:
        if spans["ymd"] > MIN_SPAN_RATIO * min(others):
            del spans["ymd"]
        elif spans["ymd"] * MIN_SPAN_RATIO < min(others):
            return ("ymd",)
    return tuple(spans)


def _names_years(cells: pd.Series, times: pd.Series) -> bool:
    """Whether the numbers after names of months are years (Sep-19) rather than days."""
    numbers = cells.astype(str).str.extract(r"(\d+)\D*$")[0].astype(int)
    in_order = times.is_monotonic_increasing or times.is_monotonic_decreasing
    return not numbers.between(1, 31).all() or (in_order and times.dt.month.nunique() > 1)


def read_dates(column: pd.Series, order: str) -> pd.Series:
    """Return cells as moments, UTC if they have a time zone: NaT for those that are not dates.

    Args:
        column: of texts or dates.
        order: of day, month and year, a key of `FORMATS`.
    """
    import pandas as pd

    cells = column.astype(object).map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    times = pd.to_datetime(cells, errors="coerce", format="ISO8601", utc=True).dt.as_unit("us")
    is_text = times.isna() & cells.notna()
    if not is_text.any():
        return times
    texts = cells[is_text].astype(str)
    days = texts.map(_day)
    unique = pd.Series(days.unique(), days.unique(), dtype=object)
    dates = _parsed(unique.map(_normal), (*COMMON, *FORMATS[order]))
    found = days.map(dates)
    if not days.equals(texts):
        found += _clock(texts)
    times[is_text] = found.array
    return times


def _parsed(texts: pd.Series, formats: Sequence[str]) -> pd.Series:
    """Return texts as moments by the first format of each."""
    import pandas as pd

    found = pd.Series(pd.NaT, texts.index, "datetime64[us, UTC]")  # nanoseconds would end in 2262
    shapes = texts.map(partial(re.sub, r"\d+", "%"))
    occurring = {*shapes}
    for form in formats:
        if (shape := re.sub("%.", "%", form)) in occurring:
            alike = texts[found.isna() & (shapes == shape)]
            times = pd.to_datetime(alike, errors="coerce", format=form, utc=True)
            found = found.fillna(times.dt.as_unit("us"))
    return found


def _clock(texts: pd.Series) -> pd.Series:
    """Return the times of day at the ends of texts as durations, NaT if they are impossible."""
    import pandas as pd

    parts = texts.str.extract(CLOCK)
    hours, minutes, seconds = (
        pd.to_numeric(parts[name].str.replace(",", ".")).fillna(0)
        for name in ("hour", "minute", "second")
    )
    half = parts["half"].str.lower().str[0]
    wrong = (hours > half.notna().map({True: 12, False: 24})) | (minutes > 59) | (seconds > 60)
    hours = hours.where(half.isna(), hours % 12 + 12 * (half == "p"))
    return pd.to_timedelta(
        (3600 * hours + 60 * minutes + seconds).mask(wrong), unit="s"
    ).dt.as_unit("us")


def _day(text: str) -> str:
    """Return a date without its time of day."""
    return CLOCK.sub("", text.strip())


def _normal(text: str) -> str:
    """Write a date with hyphens, M and the number of a named month; empty if another word occurs.

    `2. Feb. 1999` becomes `2-M02-1999`, and `2020Q3` becomes `2020M07`. Dots between numbers stay.
    """
    text = _fold(re.sub("[年月日]", "-", text))
    text = re.sub(r"(?<=\d)([snr][td]|th|er|o)\b", "", text)
    text = re.sub(r"q([1-4])(?!\d)", lambda match: f"m{3 * int(match[1]) - 2:02}", text)
    text = re.sub(r"^(\d{4})-?w(\d{1,2})(-\d)?$", lambda m: f"{m[1]}-w{m[2]}{m[3] or '-1'}", text)
    words = {word: _month_words().get(word) for word in re.findall("[a-z]+", text)}
    if None in words.values():
        return ""
    text = re.sub("[a-z]+", lambda match: words[match[0]] or "", text)
    if re.fullmatch(r"\d+\.\d+\.\d+\.?", text):
        return text.strip(".")
    return re.sub(r"([\s./'-]|,\s)+", "-", text).strip("-")  # 1,2024 is a number


def _fold(text: str) -> str:
    """Return a text in small letters without accents."""
    return unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()


@lru_cache(maxsize=1)
def _month_words() -> dict[str, str]:
    """Return what to write for each word that may occur in a date."""
    from babel import Locale

    words = dict.fromkeys(("de", "del", "of", "the", "den", "le"), "")
    locales = [Locale(language) for language in LANGUAGES.split()]
    forms = [(c, w) for c in ("format", "stand-alone") for w in ("wide", "abbreviated")]
    for names in (locale.days[c][w] for locale in locales for c, w in forms):
        words |= {_fold(name).strip("."): "" for name in names.values()}
    for names in (locale.months[c][w] for locale in locales for c, w in forms):
        words |= {_fold(name).strip("."): f"M{month:02}" for month, name in names.items()}
    words = {word: code for word, code in words.items() if len(word) > 1}
    return words | {"mrz": "M03", "maerz": "M03", "m": "M", "w": "W"}


def read_compact_dates(numbers: np.ndarray) -> np.ndarray | None:
    """Return whole numbers such as 20241231 or 2024123108 as times `[N]`; None if they are others.

    Args:
        numbers: `[N]`, NaN where there is no value.
    """
    import pandas as pd

    texts = pd.Series(numbers).map("{:.0f}".format, na_action="ignore")
    digits = texts.dropna().str.len().unique()
    if len(digits) != 1 or digits[0] not in COMPACT or np.any(numbers % 1 > 0):
        return None
    times = pd.to_datetime(texts, format=COMPACT[digits[0]], errors="coerce")
    known = times.dt.year.between(FIRST_YEAR, LAST_YEAR) | texts.isna()
    return times.to_numpy("datetime64[s]") if known.all() else None


def are_compact_dates(numbers: np.ndarray) -> bool:
    """Whether all of many different numbers `[N]` are dates, and not only successive numbers."""
    values = np.unique(numbers[~np.isnan(numbers)])
    if len(values) < MIN_COMPACT_DATES or values[0] < 1e5 or values[-1] >= 1e14:
        return False
    return len(np.unique(values // 100)) > 1 and read_compact_dates(values) is not None
