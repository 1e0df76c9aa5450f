"""The names of columns are found below titles and metadata, and above units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.read.table_file import as_written, format_of, read_frame
from bnnbench.data.own_table.read.text_file import ReadingSettings
from bnnbench.data.own_table.source import OwnTable

NUMBERS = np.random.default_rng(0).normal(50, 10, (30, 9)).round(2)
NAMES = ["temp", "dew", "hum", "wind", "rain", "sun", "co2", "no2", "y"]

META = [["Site", "Ulm"], ["Altitude", "480"], ["Version", "1.2"], ["Date", "2024-01-01"]]

ABOVE: dict[str, tuple[list[list[str]], int, int]] = {
    # lines above the names, number of columns, line of the names
    "metadata": (META, 9, 5),
    "more metadata than rows": (META * 8, 9, 33),
    "metadata of three cells": ([["Position", "48.4", "9.9"], *META], 9, 6),
    "metadata with empty cells": ([[*row, *[""] * 7] for row in META], 9, 5),
    "blank lines": ([*META, [""], [""]], 9, 7),
    "a title and metadata": ([["Messwerte"], ["Ort", "Kiel"]], 4, 3),
    "two columns": ([["Ort", "Kiel"], ["Operator", "Kim"]], 2, 3),
    "two columns, a number": ([["Height", "480"], ["Logger", "L7"]], 2, 3),
    "names of groups": ([["Air", "", "Light", ""]], 4, 2),
    "equal names of groups": ([["Air", "Air", "Light", "Light"]], 4, 2),
}

UNITS = {
    "symbols": ["m", "kg", "°C", "%"],
    "brackets": ["[mbar]", "[-]", "[W/m²]", "(s)"],
    "words": ["Volts", "degrees", "seconds", "percent"],
    "equal": ["cm", "cm", "cm", "cm"],
    "with gaps": ["m/s", "", "kg m^-3", "-"],
}

DATA: dict[str, list[list[str]]] = {
    "an index of pandas": [["", "a", "y"], ["0", "1.5", "2"], ["1", "2.5", "3"]],
    "an index and a word": [["", "a", "y"], ["p", "unknown", "2"], ["q", "2.5", "3"]],
    "two columns of text": [["key", "value"], ["Site", "Ulm"], ["Operator", "Kim"], ["A", "B"]],
    "text and a word": [["name", "mass"], ["Tom", "unknown"], ["Ann", "2.5"], ["Eva", "3.5"]],
    "missing values first": [["a", "b", "y"], ["?", "-", "1"], ["2", "3", "4"], ["5", "6", "7"]],
    "a row of missing values": [["a", "b"], ["?", "-"], ["2", "3"], ["5", "6"]],
    "a word for a missing value": [["a", "b"], ["off", "3"], ["2", "3"], ["5", "off"]],
    "years": [["place", "2001", "2002"], ["x", "1", "2"], ["y", "3", "4"]],
    "few names": [["a", "", "", "y", ""], [*"12345"], [*"67890"], [*"54321"]],
    "one column": [["y"], ["1"], ["2"], ["3"]],
    "keys and a word": [["id", "a"], ["P1", "unknown"], ["P2", "2"], ["P3", "3"]],
    "keys": [["id", "a"], ["P1", "1"], ["P2", "2"], ["P3", "3"]],
}
"""Tables whose first line has the names, and whose other lines are data."""


def write(path: Path, rows: list[list[str]], separator: str = ",") -> Path:
    path.write_text("\n".join(map(separator.join, rows)) + "\n")
    return path


def numbers(width: int, decimal: str) -> list[list[str]]:
    return [[str(n).replace(".", decimal) for n in row] for row in NUMBERS[:, :width]]


@pytest.mark.parametrize(("separator", "decimal"), [(",", "."), (";", ","), ("\t", ",")])
@pytest.mark.parametrize("case", ABOVE)
def test_lines_above_the_names_are_skipped(
    tmp_path: Path, case: str, separator: str, decimal: str
) -> None:
    above, width, line = ABOVE[case]
    rows = [*above, NAMES[:width], *numbers(width, decimal)]
    path = write(tmp_path / "t.csv", rows, separator)
    frame, notes = read_frame(path, ReadingSettings())
    assert list(frame) == NAMES[:width] and f"line {line}" in notes
    assert frame.to_numpy().tolist() == NUMBERS[:, :width].tolist()
    given = read_frame(path, ReadingSettings(header=line))[0]
    pd.testing.assert_frame_equal(given, frame)


@pytest.mark.parametrize("above", [[], META])
@pytest.mark.parametrize("case", UNITS)
def test_units_below_the_names_are_skipped(
    tmp_path: Path, case: str, above: list[list[str]]
) -> None:
    rows = [*above, NAMES[:4], UNITS[case], *numbers(4, ",")]
    path = write(tmp_path / "t.csv", rows, ";")
    frame, notes = read_frame(path, ReadingSettings())
    assert frame.to_numpy().tolist() == NUMBERS[:, :4].tolist()
    assert f"line {len(above) + 2}" in notes and UNITS[case][0] in notes
    written = as_written(path, frame, format_of(path, ReadingSettings()), ReadingSettings())
    assert written.iloc[0, 0] == str(NUMBERS[0, 0]).replace(".", ",")


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize("case", DATA)
def test_names_in_the_first_line(tmp_path: Path, case: str, separator: str) -> None:
    rows = DATA[case]
    frame, notes = read_frame(write(tmp_path / "t.csv", rows, separator), ReadingSettings())
    assert list(frame) == [name or f"column_{k}" for k, name in enumerate(rows[0], 1)]
    assert len(frame) == len(rows) - 1 and "skipped" not in notes


def test_a_first_row_with_gaps_is_data_without_names(tmp_path: Path) -> None:
    rows = [["5", "", "", ""], *numbers(4, ".")]
    frame, _ = read_frame(write(tmp_path / "t.csv", rows), ReadingSettings(header=False))
    assert len(frame) == len(rows)


@pytest.mark.parametrize("case", ABOVE)
def test_rows_above_the_names_in_a_sheet(tmp_path: Path, case: str) -> None:
    pytest.importorskip("openpyxl")
    above, width, line = ABOVE[case]
    rows: list[list[Any]] = [*above, NAMES[:width], UNITS["symbols"][:width]]
    rows += NUMBERS[:, :width].tolist()
    full = [[*row, *[None] * (width - len(row))][:width] for row in rows]
    cells = pd.DataFrame(full).replace("", None)
    if width > 4 or width == 2:
        cells = cells.drop(index=line)  # units of some columns only
    cells.to_excel(tmp_path / "t.xlsx", header=False, index=False)
    frame, notes = read_frame(tmp_path / "t.xlsx", ReadingSettings())
    assert list(frame) == NAMES[:width] and f"row {line}" in notes
    assert frame.to_numpy().tolist() == NUMBERS[:, :width].tolist()
    given = read_frame(tmp_path / "t.xlsx", ReadingSettings(header=line))[0]
    pd.testing.assert_frame_equal(given, frame)


@pytest.mark.parametrize("error", ["#DIV/0!", "#N/A", "#VALUE!", "#REF!", "#NAME?"])
@pytest.mark.parametrize("above", [0, 2])
def test_an_error_in_a_sheet_is_a_missing_value(tmp_path: Path, error: str, above: int) -> None:
    pytest.importorskip("openpyxl")
    rows: list[list[Any]] = [["Title", None]] * above + [["a", "y"], [1, error], [2, 5], [3, 6]]
    pd.DataFrame(rows).to_excel(tmp_path / "t.xlsx", header=False, index=False)
    frame = read_frame(tmp_path / "t.xlsx", ReadingSettings())[0]
    assert frame["y"].isna().tolist() == [True, False, False]


def test_the_line_of_the_names_is_given(tmp_path: Path) -> None:
    """Where metadata cannot be told from names."""
    rows = [["a", "b", "c"], ["x", "z", "y"], *numbers(3, ".")]
    path = write(tmp_path / "t.csv", rows)
    assert list(read_frame(path, ReadingSettings(header=2))[0]) == ["x", "z", "y"]
    table = OwnTable(path=str(path), target="y", header=2).load()
    assert table.features == ("x", "z") and len(table.targets) == 30
    for line, code in ((99, "no_names"), (0, None), (-1, None), (2.0, None), ("2", None)):
        with raises_user_error("dataset.header", code):
            OwnTable(path=str(path), target="y", header=line).load()  # type: ignore[arg-type]
