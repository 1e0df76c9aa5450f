"""Dates in many notations, and strings and numbers that only look like dates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bnnbench.data.own_table.cells.dates import LANGUAGES, read_dates
from bnnbench.data.own_table.columns.encoding import CATEGORIES, DATES, NUMBER, infer_encoding

DAYS = pd.Series(pd.date_range("2019-08-05", periods=40, freq="11D"))
MONTHS = pd.Series(pd.date_range("2018-01-01", periods=40, freq="MS"))
HOURS = pd.Series(pd.date_range("2019-08-05 01:00", periods=40, freq="7h"))
QUARTERS = pd.Series(pd.date_range("2018-01-01", periods=40, freq="QS"))

NAMES = {
    "de": "Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "fr": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
    "dicembre",
    "ru": "янв фев мар апр май июн июл авг сен окт ноя дек",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
    "listopada grudnia",
}


def named(language: str, form: str, times: pd.Series) -> list[str]:
    months = NAMES[language].split()
    return [form.format(months[t.month - 1], t) for t in times]


@pytest.mark.parametrize(
    ("texts", "times"),
    [
        (DAYS.dt.strftime("%d/%m/%Y"), DAYS),
        (DAYS.dt.strftime("%m-%d-%Y"), DAYS),
        (DAYS.dt.strftime("%d.%m.%y"), DAYS),
        (DAYS.dt.strftime("%y/%m/%d"), DAYS),
        (DAYS.dt.strftime("%A, %B %d, %Y"), DAYS),
        (DAYS.dt.strftime("%d-%b-%y"), DAYS),
        (DAYS.dt.strftime("%Y年%m月%d日"), DAYS),
        (DAYS.dt.strftime("%Y년 %m월 %d일"), DAYS),
        (HOURS.dt.strftime("%d/%m/%Y %H:%M UTC"), HOURS),
        (HOURS.dt.strftime("%m/%d/%Y %I:%M %p"), HOURS),
        (HOURS.dt.strftime("%d.%m.%Y, %H.%M Uhr"), HOURS),
        (HOURS.dt.strftime("%Y-%m-%dT%H:%M:%SZ"), HOURS),
        (HOURS.dt.strftime("%Y%m%d%H").astype(int), HOURS),
        (DAYS.dt.strftime("%Y%m%d").astype(float), DAYS),
        (MONTHS.dt.strftime("%Y%m").astype(int), MONTHS),
        (MONTHS.dt.strftime("%b-%y"), MONTHS),
        (MONTHS.dt.strftime("%m/%Y"), MONTHS),
        (MONTHS.dt.strftime("%YM%m"), MONTHS),
        (QUARTERS.dt.to_period("Q").astype(str), QUARTERS),
        ([f"T{t.quarter} {t.year}" for t in QUARTERS], QUARTERS),
        (DAYS.dt.strftime("%G-W%V-%u"), DAYS),
        (named("de", "{0} {1:%Y}", MONTHS), MONTHS),
        (named("fr", "{1.day} {0} {1:%Y}", DAYS), DAYS),
        (named("it", "{0} {1:%Y}", MONTHS), MONTHS),
        (named("ru", "{1.day} {0} {1:%Y}", DAYS), DAYS),
        (named("pt", "{1:%d} de {0} de {1:%Y}", DAYS), DAYS),
        (named("pl", "{1.day}. {0} {1:%Y} {1:%H:%M}", HOURS), HOURS),
    ],
)
@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_dates_are_read_in_their_notation(texts: object, times: pd.Series, order: slice) -> None:
    column = pd.Series(list(texts))[order]  # type: ignore[call-overload]
    encoding = infer_encoding(column)
    days = (times.to_numpy() - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    assert encoding.kind == DATES
    assert encoding.apply(column)[0] == pytest.approx(days[order], abs=1e-9)
    some = column.iloc[[0]]  # read in the order of the whole column
    assert encoding.apply(some)[0] == pytest.approx(days[order][:1], abs=1e-9)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([f"{i % 9 + 1}/{i % 7 + 1}/2020" for i in range(40)], CATEGORIES),
        ([f"0{i % 9 + 1}-0{i % 7 + 1}-19" for i in range(40)], CATEGORIES),
        (DAYS[:3].dt.strftime("%d %b"), CATEGORIES),
        (DAYS.dt.strftime("%b-%d"), CATEGORIES),
        ([*DAYS.dt.strftime("%d/%m/%Y"), "12/31/2020"], CATEGORIES),
        ([f"p-{i}" for i in range(40)], CATEGORIES),
        (["may", "june"] * 20, CATEGORIES),
        (["Q1", "Q2"] * 20, CATEGORIES),
        (["555-0134", "555-9921"] * 20, CATEGORIES),
        (["13/13/2020", "13/14/2020"] * 20, CATEGORIES),
        (np.arange(20240101, 20240129), NUMBER),  # successive numbers
        (np.arange(20240101, 20240141), NUMBER),
        (200000 + 50 * np.arange(40), NUMBER),
        ([20240101, 20240201] * 20, NUMBER),
        (np.arange(40) / 12 + 1958, NUMBER),
        ([1e300, *range(40)], NUMBER),
        ([np.inf, *range(40)], NUMBER),
        (["1,2024", "2,1999"] * 20, CATEGORIES),
        (["5 \u05de\u05d0\u05d9 2020"] * 40, CATEGORIES),  # a name in no language, not 5/2020
        (["10:11:12", "10:12:01"] * 20, CATEGORIES),
        (["31/12/2019", pd.Timestamp("2020-02-01")] * 20, CATEGORIES),  # may be 2 January
    ],
)
def test_other_columns_are_not_dates(cells: object, kind: str) -> None:
    assert infer_encoding(pd.Series(list(cells))).kind == kind  # type: ignore[call-overload]


@pytest.mark.parametrize("language", LANGUAGES.split())
def test_names_of_months_mean_one_month_in_all_languages(language: str) -> None:
    from babel.dates import format_date

    for pattern, form in (("d MMM yyyy", "%d-m-%m-%Y"), ("LLLL yyyy", "m-%m-%Y")):
        texts = pd.Series([format_date(day, pattern, language) for day in MONTHS[:12]])
        found = read_dates(texts, form).dt.tz_localize(None)
        assert found.equals(MONTHS[:12].astype("datetime64[us]"))


@pytest.mark.parametrize(
    ("clocks", "hours"),
    [
        (["12:30 am", "1:05 pm"], [0.5, 13 + 1 / 12]),
        (["12:30:00 PM", "11:00:36 AM"], [12.5, 11.01]),
        (["7.45 Uhr", "19.00 Uhr"], [7.75, 19]),
        (["", "23:59:24"], [0, 23.99]),
    ],
)
def test_times_of_day(clocks: list[str], hours: list[float]) -> None:
    column = pd.Series([f"31.12.1969 {clock}" for clock in clocks])
    days = infer_encoding(column).apply(column)[0]
    assert 24 * (days + 1) == pytest.approx(hours)


@pytest.mark.parametrize("clock", ["25:00", "13:00 pm", "08:61"])
def test_impossible_times_of_day_are_not_read(clock: str) -> None:
    column = pd.Series([f"31.12.2019 {clock}", "31.12.2019 08:00"])
    assert infer_encoding(column).kind == CATEGORIES
