"""Columns that show the order of time, and sorted columns that do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.columns.row_labels import chronological_columns
from bnnbench.data.own_table.source import OwnTable

RNG = np.random.default_rng(0)
N = 240
MONTHS = pd.date_range("1997-04-01", periods=N, freq="MS")
DAYS = pd.date_range("2019-11-05", periods=N)
HOURS = pd.date_range("2019-12-25 05:00", periods=N, freq="h")
SUMMER = pd.date_range("1973-05-01", "1973-09-30")
TENS = pd.date_range("2019-12-31", periods=N, freq="10min")
WEEKS = pd.date_range("2016-01-04", periods=N, freq="W").isocalendar()
ROWS = np.arange(N)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ([MONTHS.year, MONTHS.month], "ab"),
        ([DAYS.day, DAYS.month, DAYS.year], "cba"),
        ([HOURS.year, RNG.random(N), HOURS.day, HOURS.hour], "acd"),
        ([TENS.day, TENS.hour + 1, TENS.minute, TENS.year], "dbc"),
        ([WEEKS["year"], WEEKS["week"]], "ab"),
        ([MONTHS.year, MONTHS.quarter, MONTHS.month], "ac"),
        ([MONTHS.year[::-1], RNG.random(N), MONTHS.month[::-1]], "ac"),
        ([SUMMER.month, SUMMER.day], "ab"),
        ([DAYS.month[57:], DAYS.day[57:]], "ab"),  # with 29 February
        ([1780 + ROWS], "a"),
        ([1780 + ROWS[ROWS % 40 > 0]], "a"),  # some years are missing
        ([2000 + ROWS // 12, RNG.permutation(ROWS)], "a"),
        ([np.round(1958.208 + ROWS / 12, 3)], "a"),
        ([np.round(2001 + ROWS / 365.25, 4)], "a"),
        ([1546300800 + 900 * ROWS], "a"),
        ([1546300800 + 30 * ROWS], "a"),
        ([1000 * (1262304000 + 3600 * ROWS[ROWS % 50 > 0])], "a"),
        ([1.2e9 + 86400 * ROWS[::-1]], "a"),
        ([(MONTHS - pd.Timestamp(0)) // pd.Timedelta("1us")], "a"),
    ],
)
def test_times_are_found_by_their_values(columns: list[Any], found: str) -> None:
    values = [np.asarray(column, np.float64) for column in columns]
    named = {"x": RNG.normal(size=len(values[0])), **dict(zip("abcd", values, strict=False))}
    assert "".join(chronological_columns(named, ())) == found
    shuffled = {name: RNG.permutation(column) for name, column in named.items()}
    assert chronological_columns(shuffled, ()) == ()


@pytest.mark.parametrize(
    "columns",
    [
        [np.sort(RNG.uniform(0, 50, N))],  # doses
        [np.sort(RNG.integers(4e8, 2e9, N))],  # populations
        [np.sort(RNG.integers(1900, 2010, N))],  # years of construction
        [ROWS],
        [ROWS + 1],
        [ROWS + 1001],
        [1_000_000_001 + ROWS],
        [1_000_000 * np.sort(RNG.integers(500, 900, N))],  # populations in millions
        [np.sort(RNG.integers(5_000_000, 9_000_000, N)) * 100],
        [1e9 + 5e6 * ROWS],  # frequencies
        [400e9 + 1e9 * ROWS],
        [0.1 * ROWS],  # a grid
        [1500 + 2.5 * ROWS],
        [1500 + 0.5 * ROWS],
        [ROWS // 12 + 1, ROWS % 12 + 1],  # a factorial experiment
        [1500 + 10 * (ROWS // 24), ROWS % 24],
        [ROWS // 30 + 1, ROWS % 30 + 1],
        [ROWS // 31 + 1, ROWS % 31 + 1],
        [np.sort(RNG.integers(1, 13, N)), RNG.integers(1, 29, N)],
        [np.full(N, 2019), RNG.integers(1, 13, N)],
        [43_831 + ROWS],
        [np.where(ROWS == 3, np.nan, 1780 + ROWS)],
    ],
)
def test_other_sorted_columns_are_not_times(columns: list[Any]) -> None:
    named = dict(zip("ab", (np.asarray(c, np.float64) for c in columns), strict=False))
    assert chronological_columns({"x": RNG.normal(size=N), **named}, ()) == ()


def written(folder: Path, shuffled: bool = False) -> str:
    frame = pd.DataFrame({"Monat": MONTHS.month, "Jahr": MONTHS.year, "x": RNG.normal(size=N)})
    frame["y"] = frame["Jahr"] + frame["Monat"] / 12
    if shuffled:
        frame = frame.sample(frac=1, random_state=0)
    frame.to_csv(folder / "t.csv", index=False)
    return str(folder / "t.csv")


def test_splits_by_time_are_advised_and_the_time_is_not_only_excluded(tmp_path: Path) -> None:
    path = written(tmp_path)
    warnings = OwnTable(path=path, target="y").load().warnings
    (advice,) = [text for text in warnings if "dataset.time=[Jahr,Monat]" in text]
    assert "RMSE" in advice
    assert not any("dataset.drop" in text for text in warnings), "Jahr determines the target"
    by_time = OwnTable(path=path, target="y", time=["Jahr", "Monat"]).load().warnings
    assert not any("dataset." in text for text in by_time)


@pytest.mark.parametrize("time", [["Jahr", "Monat"], [" Jahr", "Monat "], ("Jahr", "Monat")])
def test_rows_are_ordered_by_several_columns(tmp_path: Path, time: Any) -> None:
    source = {"path": written(tmp_path, shuffled=True), "target": "y"}
    table = OwnTable(**source, time=time).load()
    assert table.features == ("Monat", "Jahr", "x") and len(table.splits) == 5
    for split in table.splits:
        assert table.targets[split.train].max() < table.targets[split.test].min()
    assert OwnTable(**source, time=time, time_input=False).load().features == ("x",)
    assert OwnTable(**source, time=time, columns=["x", "Jahr"]).load().features == ("Jahr", "x")


@pytest.mark.parametrize(
    ("settings", "setting", "code"),
    [
        ({"time": []}, "dataset.time", None),
        ({"time": ["Jahr", "Jahr"]}, "dataset.time", None),
        ({"time": ["Jahr", "Tag"]}, "dataset.time", "unknown_column"),
        ({"time": ["Jahr", "y"]}, "dataset.target", "split_column"),
        ({"time": ["Jahr", "Monat"], "drop": ["Monat"]}, "dataset.drop", "column_in_use"),
        ({"time": ["Jahr", "Monat"], "group": "x"}, "dataset.group", "two_split_columns"),
    ],
)
def test_wrong_lists_of_times(
    tmp_path: Path, settings: dict[str, Any], setting: str, code: str | None
) -> None:
    path = written(tmp_path)
    with raises_user_error(setting, code):
        OwnTable(path=path, target="y", **settings).load()
