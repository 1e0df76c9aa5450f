"""Read dates in the notation of a column, whose cells decide the order of day, month and year."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

COMPACT = {6: "%Y%m", 8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
"""Formats of dates that are written as whole numbers, by their number of digits."""

DAYS = (
    "%Y-%m-%d", "%d-%m-%Y", "%m-%d-%Y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d",
    "%Y-m-%m-%d", "%d-m-%m-%Y", "m-%m-%d-%Y", "%d-m-%m-%y", "m-%m-%d-%y", "%G-w-%V-%u",
)  # fmt: skip
"""Formats of days, as `_normal` writes them: m is followed by the number of a named month."""

MONTHS = ("%Y-%m", "%m-%Y", "%Y-m-%m", "m-%m-%Y", "m-%m-%y", "m-%m-%d")
"""Formats of months, and of days without a year, which are never read as dates."""

CLOCKS = ("", "-%H-%M", "-%H-%M-%S", "-%I-%M-%p", "-%I-%M-%S-%p")
CLOCK = re.compile("-%[HI].*")

FORMATS = ("", *COMPACT.values(), *MONTHS, *(day + clock for day in DAYS for clock in CLOCKS))
"""Formats of dates; the empty one stands for ISO 8601."""

MIN_COMPACT_DATES = 10
"""Different whole numbers, all of which must be dates; one in eight is a year and a month by
chance."""

FIRST_YEAR, LAST_YEAR = 1500, 2100
"""Years that numbers may stand for."""

LAST_SHORT_YEAR = 2029
"""The last year that two digits stand for, as in workbooks."""

MIN_SPAN_RATIO = 3.0
"""The year comes first, or does not, if dates then span a period that is shorter by this factor."""

LANGUAGES = "en de fr es it pt nl da nb sv fi pl cs hu ro tr id ru uk el"
"""Languages of names of months; no name means another month in another of them."""

DATE = re.compile(r"(?!\d+:)\w([\w\s./:'-]|,\s)*")
"""What a date may consist of: it starts with no time of day, and 1,2024 is a number."""


def date_formats(column: pd.Series) -> tuple[str, ...]:
    """Return the formats in which all cells are dates: several if no cell decides between them.

    Args:
        column: of strings or dates.
    """
    cells = column.dropna()
    found = {form: times for form, times in readings(cells).items() if times.notna().all()}
    if "" in found:
        return ("",)
    if "m-%m-%d" in found:  # Sep-19 is a month only if the rows are in its order
        years = found["m-%m-%y"]
        ordered = years.is_monotonic_increasing or years.is_monotonic_decreasing
        if ordered and years.dt.month.nunique() > 1:
            del found["m-%m-%d"]
    if re.match(r"\d+\.\s*\d+\.", str(cells.iloc[0]) if len(cells) else ""):  # the day is first
        found = {form: times for form, times in found.items() if not form.startswith("%m-%d")}
    spans = {form: times.max() - times.min() for form, times in found.items()}
    return tuple(
        form
        for form, span in spans.items()
        if all(
            span <= MIN_SPAN_RATIO * other
            for rival, other in spans.items()
            if form.startswith("%y") != rival.startswith("%y")
        )
    )


def readings(column: pd.Series) -> dict[str, pd.Series]:
    """Return the cells as timestamps in each format in which most of a sample are dates."""
    cells = column.dropna()
    some = cells.sample(min(len(cells), 20), random_state=0)  # most formats already fail there
    texts = some.astype(str)
    if texts.str.contains(r"\d").mean() <= 0.5:
        return {}
    lengths = {_normal(text).count("-") for text in texts}
    forms = [form for form in FORMATS if not form or form.count("-") in lengths]
    fitting = [form for form in forms if read_dates(some, form).notna().mean() > 0.5]
    return {form: read_dates(column, form) for form in fitting}


def read_dates(column: pd.Series, form: str) -> pd.Series:
    """Return cells as timestamps, UTC if they have a time zone; NaT for those that are not dates.

    Args:
        column: of strings, dates or numbers.
        form: one of `FORMATS`.
    """
    import pandas as pd

    if not form:
        texts = column.astype(object).map(lambda cell: str(cell).strip(), na_action="ignore")
        return pd.to_datetime(texts, errors="coerce", format="ISO8601", utc=True)
    if form in COMPACT.values():
        numbers = pd.to_numeric(column, errors="coerce")
        texts = numbers.map("{:.0f}".format, na_action="ignore")
    else:
        texts = column.astype(object).map(lambda cell: _normal(str(cell)), na_action="ignore")
    times = pd.to_datetime(texts, errors="coerce", format=form, utc=True)
    clock = CLOCK.search(form)
    if clock and times.isna().any():  # some programs write midnight as a day
        days = pd.to_datetime(texts, errors="coerce", format=form[: clock.start()], utc=True)
        times = times.fillna(days)
    if "%y" in form:
        past = times - pd.DateOffset(years=100)
        times = times.where(times.dt.year <= LAST_SHORT_YEAR, past)
    return times


@lru_cache(maxsize=1 << 14)
def _normal(text: str) -> str:
    """Write a date as numbers, joined by hyphens; empty if an unknown word occurs.

    `2. Feb. 1999` becomes `2-m-02-1999`, and `2020Q3` becomes `2020-m-7`.
    """
    text = text.strip()
    if not DATE.fullmatch(text):
        return ""
    text = re.sub(r"[qt]([1-4])(?!\d)", lambda match: f"m{3 * int(match[1]) - 2}", _fold(text))
    text = re.sub(r"^(\d{4})-?(w\d{1,2})$", r"\1\2-1", text)
    parts = re.findall(r"\d+|[^\W\d_]+", text)
    words = [part if part.isdigit() else _words().get(part) for part in parts]
    return "" if None in words else "-".join(filter(None, words))


def _fold(text: str) -> str:
    """Return a string in lower case without accents."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    """Return the replacement of each word that may occur in a date."""
    from babel import Locale

    ignored = "de del of the den le st nd rd th uhr utc gmt 年 月 日 년 월 일"
    words = dict.fromkeys(_fold(ignored).split(), "")
    months = {"mrz": "m-03", "maerz": "m-03", "фев": "m-02", "сен": "m-09", "ноя": "m-11"}
    months |= {word: word for word in ("m", "w", "am", "pm")}
    for locale in map(Locale, LANGUAGES.split()):
        for context, width in [(c, w) for c in locale.days for w in ("wide", "abbreviated")]:
            words |= {_fold(name).strip("."): "" for name in locale.days[context][width].values()}
            for month, name in locale.months[context][width].items():
                months[_fold(name).strip(".")] = f"m-{month:02}"
    return words | months  # a month rather than a day of the week in another language


def compact_format(numbers: np.ndarray) -> str:
    """Return the format of whole numbers `[N]` such as 20241231 or 2024123108.

    It is empty unless many different numbers are dates and are not just consecutive.
    """
    import pandas as pd

    values = np.unique(numbers[~np.isnan(numbers)])
    if len(values) < MIN_COMPACT_DATES or values[0] < 1e5 or values[-1] >= 1e14:
        return ""
    form = COMPACT.get(len(f"{values[0]:.0f}"))
    if form is None or np.any(values % 1) or len(np.unique(values // 100)) == 1:
        return ""
    years = read_dates(pd.Series(values), form).dt.year
    return form if years.between(FIRST_YEAR, LAST_YEAR).all() else ""
