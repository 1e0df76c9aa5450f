"""Frames of other libraries, with durations, periods and indices."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.frames import about_frame, named_frame


@pytest.fixture
def frame() -> pd.DataFrame:
    """Return a row per type of column, and a missing value in each."""
    columns = {
        "size": [1.5, 2, None],
        "count": pd.array([1, None, 3], dtype="Int64"),
        "city": ["Oslo", None, "Bergen"],
        "kind": pd.Categorical(["u", "v", None]),
        "built": pd.to_datetime(["2024-01-01", "2024-01-02", None]),
    }
    return pd.DataFrame(columns)


@pytest.mark.parametrize("library", ["polars", "table", "batch", "reader", "pandas"])
def test_frames_of_other_libraries_have_the_same_cells(frame: pd.DataFrame, library: str) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pandas(frame)
    data = {
        "polars": lambda: pytest.importorskip("polars").from_pandas(frame),
        "table": lambda: table,
        "batch": lambda: table.to_batches()[0],
        "reader": table.to_reader,
        "pandas": lambda: frame,
    }[library]()
    found, notes = named_frame(data, "rows")
    assert not notes and list(found) == list(frame)
    for name, column in found.items():
        assert (isinstance(column.dtype, pd.CategoricalDtype)) == (name == "kind")
        assert [None if pd.isna(cell) else cell for cell in column] == [
            None if pd.isna(cell) else cell for cell in frame[name]
        ]


@pytest.mark.parametrize(
    "data",
    [[[1, 2]], np.ones((2, 2)), {"a": [1]}, pd.Series([1.0], name="a"), 3, "rows.csv", None],
)
def test_what_is_no_frame_is_refused(data: Any) -> None:
    with raises_user_error("rows", "wrong_type") as error:
        named_frame(data, "rows")
    assert type(data).__name__ in str(error.value)


def test_a_series_of_another_library_is_no_frame() -> None:
    pa = pytest.importorskip("pyarrow")
    with raises_user_error("rows", "wrong_type"):
        named_frame(pa.chunked_array([[1.0, 2.0]]), "rows")


HOURS = pd.to_timedelta([1, 2, 30], unit="h")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (HOURS, [3600, 7200, 108000]),
        (HOURS.as_unit("ms"), [3600, 7200, 108000]),
        ([timedelta(minutes=1), None, timedelta(days=-1)], [60, np.nan, -86400]),
        ([pd.Timedelta("1us"), pd.NaT, pd.Timedelta(0)], [1e-6, np.nan, 0]),
        (np.array([1, 2, 3], "m8[m]"), [60, 120, 180]),
    ],
)
def test_durations_become_seconds(cells: Any, expected: list[float]) -> None:
    frame = pd.DataFrame({"wait": cells, "x": [1, 2, 3]})
    found, notes = named_frame(frame, "rows")
    np.testing.assert_array_equal(found["wait"], expected)
    (note,) = notes
    assert "wait" in note and "x" not in note.split("wait")[0]
    assert list(frame["wait"]) == list(pd.Series(cells))  # unchanged


@pytest.mark.parametrize(
    "cells",
    [[1.0, 2, 3], ["01:00:00", "1 days", "2h"], pd.date_range("2024", periods=3),
     [date(2024, 1, 1), None, None], [None, None, None], ["wait", "a", "b"]],
)  # fmt: skip
def test_other_columns_stay_the_same(cells: Any) -> None:
    frame = pd.DataFrame({"wait": cells})
    found, notes = named_frame(frame, "rows")
    pd.testing.assert_frame_equal(found, frame)
    assert not notes


@pytest.mark.parametrize("frequency", ["M", "Q", "D", "h"])
def test_periods_become_dates(frequency: str) -> None:
    periods = pd.period_range("2024-01", periods=3, freq=frequency)
    found, _ = named_frame(pd.DataFrame({"when": periods}), "rows")
    assert list(found["when"]) == [period.start_time for period in periods]


THREE = range(3)


@pytest.mark.parametrize(
    ("index", "time"),
    [
        (pd.date_range("2024-01-01", periods=3), "index"),
        (pd.date_range("2024-01-01", periods=3, tz="CET", name="day"), "day"),
        (pd.period_range("2024-01", periods=3, freq="M", name="a,b"), "a,b"),
        (pd.Index([date(2024, 1, k + 1) for k in THREE], name="day"), "day"),
        (HOURS, "index"),
        (pd.Index(["2024-01-01", "2024-02-01", "2024-03-01"], name="day"), "day"),
        (pd.date_range("2024-01-01", periods=3, freq="MS", name="x"), "x_index"),
        (pd.MultiIndex.from_product([["a"], pd.date_range("2024", periods=3)]), "level_1"),
    ],
)
def test_an_index_of_times_is_offered(index: pd.Index, time: str) -> None:
    frame = pd.DataFrame({"x": THREE}, index=index)
    _, (note,) = named_frame(frame, "frame")
    assert "dataset.time=" in note
    advice = note[note.index("frame.reset_index") :].partition(" and ")[0]
    assert time in note.removeprefix(advice) and time in eval(advice, {"frame": frame})


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([0.5, 1.5, 2.5], name="depth"),
        pd.Index([1985, 1986, 1987], name="year"),
        pd.Index(["u", "u", "v"]),
        pd.CategoricalIndex(["u", "v", "v"], name="site"),
        pd.MultiIndex.from_arrays([["u", "u", "v"], [0, 1, 0]], names=["site", "visit"]),
        pd.Index([7, 7, 9], name="patient"),
        pd.Index([0.5, 1.5, 2.5], name="x"),
    ],
)
def test_an_index_that_describes_rows_is_mentioned(index: pd.Index) -> None:
    frame = pd.DataFrame({"x": THREE}, index=index)
    _, (note,) = named_frame(frame, "frame")
    advice = note[note.index("frame.reset_index") :]
    assert "dataset.time" not in note
    assert len({*eval(advice, {"frame": frame})}) == 1 + index.nlevels


@pytest.mark.parametrize(
    "index",
    [
        None,
        pd.Index([2, 0, 1]),
        pd.Index(["a", "b", "c"], name="house"),
        pd.Index([0, 0, 1]),
        pd.Index([3, 7, 9]),
        pd.RangeIndex(3, name="x"),
        pd.RangeIndex(3, name="row"),
        pd.Index([1, 2, 3], name="row"),
        pd.Index(["row 1", "row 2", "row 3"]),
        pd.Index(["2024", "2025", "2026"]),
    ],
)
def test_another_index_is_not_mentioned(index: pd.Index | None) -> None:
    assert not named_frame(pd.DataFrame({"x": THREE}, index=index), "frame")[1]


def test_messages_name_the_frame_and_files_keep_their_names() -> None:
    frame, table = Path("/out/tables/frame-12.frame"), Path("/out/table.csv")
    assert about_frame(f"{frame} is empty; frame-12.frame: x", frame).count("the frame") == 2
    assert str(table) in about_frame(f"dataset.path: {table} is empty", table)
