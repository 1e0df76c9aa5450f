"""Frames keep the types of their columns in a file."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.columns.encoding import (
    CATEGORIES,
    DATES,
    NUMBER,
    Encoding,
    encode_rows,
    infer_encoding,
)
from bnnbench.data.own_table.read.frame_file import write_frame
from bnnbench.data.own_table.read.table_file import read_frame
from bnnbench.data.own_table.read.text_file import ReadingSettings
from bnnbench.data.own_table.source import OwnTable

DAYS = pd.date_range("2024-03-01", periods=3, tz="Europe/Oslo")


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["NA", "None", "US"], CATEGORIES, ["NA", "None", "US"]),
        (["nan", "", None], CATEGORIES, ["nan", "", np.nan]),
        (["1", "2", "x"], CATEGORIES, ["1", "2", "x"]),
        (["1", "2", "3"], CATEGORIES, ["1", "2", "3"]),
        (["1,5", "2.5", "-"], CATEGORIES, ["1,5", "2.5", "-"]),
        (["2024-01-01", "2024-01-02", "?"], CATEGORIES, ["2024-01-01", "2024-01-02", "?"]),
        (np.array([1, 2, 3], "m8[h]"), CATEGORIES, [f"0 days 0{k}:00:00" for k in (1, 2, 3)]),
        (["true", "false", "true"], CATEGORIES, ["true", "false", "true"]),
        (['a"b', "a\nb", "ä;,\t"], CATEGORIES, ['a"b', "a\nb", "ä;,\t"]),
        (pd.Categorical([3, 1, 3]), CATEGORIES, ["3", "1", "3"]),
        ([1, "a", 2.5], CATEGORIES, ["1", "a", "2.5"]),
        ([1, 2, None], NUMBER, [1.0, 2.0, np.nan]),
        (pd.array([1, None, 3], dtype="Int64"), NUMBER, [1.0, np.nan, 3.0]),
        ([True, None, False], NUMBER, [1.0, np.nan, 0.0]),
        ([Decimal("0.1"), Decimal(2), None], NUMBER, [0.1, 2.0, np.nan]),
        (np.array([0.1, 1 / 3, 1e-300]), NUMBER, [0.1, 1 / 3, 1e-300]),
        ([date(2024, 1, 1), None, date(1700, 1, 1)], DATES, None),
        (DAYS, DATES, None),
    ],
)
def test_columns_keep_their_types(tmp_path: Path, values: Any, kind: str, expected: Any) -> None:
    frame = pd.DataFrame({"c": values, "y": [1.0, 2.0, 3.0]}, index=[5, 5, 6])
    path = write_frame(frame, tmp_path)
    assert write_frame(frame.copy(), tmp_path) == path and len([*tmp_path.iterdir()]) == 1
    read, notes = read_frame(path, ReadingSettings())
    assert infer_encoding(read["c"]).kind == kind and not notes
    if expected is not None:
        pd.testing.assert_series_equal(
            read["c"].astype(object), pd.Series(expected, name="c", dtype=object), check_dtype=False
        )


@pytest.mark.parametrize(("cell", "dtype"), [(1j, complex), ("\ud800", object)])
def test_cells_of_other_types_are_refused(tmp_path: Path, cell: object, dtype: type) -> None:
    with raises_user_error("dataset.path", "wrong_type"):
        write_frame(pd.DataFrame({"c": pd.Series([cell], dtype=dtype)}), tmp_path)


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    columns = {"code": ["007", "7"], "day": ["2024-01-01"] * 2, "gap": ["NA", None], "n": [1, 2]}
    pd.DataFrame(columns).to_parquet(path := tmp_path / "t.parquet")
    read, _ = read_frame(path, ReadingSettings())
    kinds = [infer_encoding(read[name]).kind for name in columns]
    assert kinds == [CATEGORIES, CATEGORIES, CATEGORIES, NUMBER]
    assert read["gap"].notna().tolist() == [True, False]


def test_codes_of_missing_values_apply_to_objects() -> None:
    frame = pd.DataFrame({"c": pd.Series([-999, "?", "4"], dtype=object)})
    inputs, _, _ = encode_rows(frame, [Encoding("c", NUMBER)], "rows", ["-999", "?"])
    np.testing.assert_array_equal(inputs[:, 0], [np.nan, np.nan, 4])


def test_another_content_has_another_file(tmp_path: Path) -> None:
    files = {
        write_frame(pd.DataFrame({"c": values}), tmp_path)
        for values in (["1", "2"], [1, 2], ["1", None], [1.0, None], ["12", ""])
    }
    assert len(files) == 5


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_that_define_splits(tmp_path: Path, unit: str) -> None:
    days = pd.date_range("2024-01-01", periods=20).as_unit(unit)
    columns = {"day": days, "x": np.arange(20) % 3, "y": np.arange(20.0) ** 2}
    path = str(write_frame(pd.DataFrame(columns), tmp_path))
    table = OwnTable(path=path, target="y", time="day").load()
    assert table.inputs[0, 0] == 19723 and len(table.splits) == 5


def test_texts_that_define_splits(tmp_path: Path) -> None:
    """Dates, and marks of the test part."""
    days = [f"2024-01-{k:02d}" for k in range(1, 21)]
    columns = {"day": days, "last": ["0"] * 15 + ["1"] * 5, "x": np.arange(20) % 3}
    path = str(write_frame(pd.DataFrame(columns | {"y": np.arange(20.0) ** 2}), tmp_path))
    by_time = OwnTable(path=path, target="y", time="day", drop=["last"]).load()
    assert by_time.features == ("day", "x") and by_time.inputs[0, 0] == 19723
    (split,) = OwnTable(path=path, target="y", test="last", drop=["day"]).load().splits
    assert split.test.tolist() == [15, 16, 17, 18, 19]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = write_frame(pd.DataFrame({"c": ["1", "2"]}), tmp_path)
    path.write_bytes(path.read_bytes()[:100])
    with raises_user_error("dataset.path", "unreadable"):
        read_frame(path, ReadingSettings())
    np.savez(path.open("wb"), names=np.zeros(3, np.uint8))
    with raises_user_error("dataset.path", "invalid_table"):
        read_frame(path, ReadingSettings())
