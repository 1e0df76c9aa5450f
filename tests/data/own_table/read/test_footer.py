"""Rows below the data are left out, and named; the last rows of data are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.quick import slow_except
from support.user_errors import raises_user_error

from bnnbench.data.own_table.read.table_file import as_written, format_of, read_frame
from bnnbench.data.own_table.read.text_file import ReadingSettings
from bnnbench.data.own_table.source import OwnTable

RNG = np.random.default_rng(3)
ROWS = 60
WEIGHT = RNG.normal(60, 12, ROWS).round(1)
COST = (50 * WEIGHT + RNG.normal(0, 100, ROWS)).round(2)
COUNT = RNG.integers(1, 40, ROWS)

LABELS = {
    "number": [str(k + 1) for k in range(ROWS)],
    "key": [f"P{k:02d}" for k in range(ROWS)],
    "category": [("North", "South", "West")[k % 3] for k in range(ROWS)],
    "name": ["".join(chr(97 + c) for c in RNG.integers(0, 26, 6)) for _ in range(ROWS)],
    "day": [str(day)[:10] for day in pd.date_range("2024-01-01", periods=ROWS)],
}  # fmt: skip
"""The first column, by what it holds."""


def of_all(statistic: Any, digits: int = 2) -> list[float]:
    """Return a statistic of each column of numbers."""
    return [round(float(statistic(column)), digits) for column in (WEIGHT, COST, COUNT)]


def deviation(column: np.ndarray) -> float:
    return float(np.std(column, ddof=1))


TOTAL, MEAN = ["Gesamt", *of_all(np.sum)], ["Moyenne", *of_all(np.mean)]

FOOTERS: dict[str, list[Sequence[object]]] = {
    "total": [TOTAL],
    "mean": [MEAN],
    "a total of one column": [["Summe", "", TOTAL[2], ""]],
    "no label": [["", *TOTAL[1:]]],
    "totals and a mean": [["Totaal", MEAN[1], *TOTAL[2:]]],
    "a blank row above": [["", "", "", ""], TOTAL],
    "note": [["Bron: Centraal Bureau voor de Statistiek", "", "", ""]],
    "short note": [["(c) 2022, Office of Statistics"]],
    "long note": [["Fuente: Banco", "Madrid", "tabla", "cuatro", "2022"]],
    "numbered notes": [["Notes", "", "", ""], ["1) preliminary"], ["2) revised, 2020"]],
    "all": [
        TOTAL,
        MEAN,
        ["s.d.", *of_all(deviation)],
        ["Min", *of_all(np.min)],
        ["Max", *of_all(np.max)],
        ["", "", "", ""],
        ["* provisional values of 2019", "", "", ""],
    ],
}  # fmt: skip

DATA: dict[str, Sequence[object]] = {
    "large": ["", 9999.9, 99999.99, 399],
    "usual": ["", 61.2, 3000.55, 12],
    "one gap": ["", 61.2, "", 12],
    "one number": ["", "", 3000.55, ""],
    "no number": ["", "", "", ""],
    "the largest": ["", round(max(WEIGHT) + 1, 1), round(max(COST) + 50, 2), max(COUNT) + 1],
}
"""Last rows that are data, but for their label."""

NEW = {"number": "61", "key": "Q99", "category": "North", "name": "zyxwvu", "day": "2024-03-01"}


def write(path: Path, rows: list[Sequence[object]], separator: str, decimal: str) -> Path:
    def line(cells: Sequence[object]) -> str:
        texts = (str(c).replace(".", decimal) if isinstance(c, float) else str(c) for c in cells)
        return separator.join(f'"{text}"' if separator in text else text for text in texts)

    path.write_text("\n".join(map(line, rows)) + "\n")
    return path


def table(label: str) -> list[Sequence[object]]:
    columns = zip(LABELS[label], WEIGHT.tolist(), COST.tolist(), COUNT.tolist(), strict=True)
    return [["label", "weight", "cost", "count"], *columns]


@pytest.mark.parametrize("case", FOOTERS)
@pytest.mark.parametrize(
    ("label", "separator", "decimal"),
    slow_except(
        [("number", ",", "."), ("key", ";", ","), ("category", "\t", "."), ("name", ";", "."),
         ("day", "\t", ",")],
        "number", "key",
    ),
)  # fmt: skip
def test_a_table_with_a_footer_is_read_as_without(
    tmp_path: Path, label: str, separator: str, decimal: str, case: str
) -> None:
    rows, footer, how = table(label), FOOTERS[case], ReadingSettings()
    clean = read_frame(write(tmp_path / "a.csv", rows, separator, decimal), how)[0]
    path = write(tmp_path / "b.csv", [*rows, *footer], separator, decimal)
    frame, notes = read_frame(path, how)
    pd.testing.assert_frame_equal(frame, clean)
    line = ROWS + 2 + (not any(footer[0]))
    assert f"line {line}" in notes and str(footer[-1][0])[:10] in notes
    written = as_written(path, frame, format_of(path, how), how)
    assert written["label"].tolist() == LABELS[label]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("case", DATA)
def test_the_last_row_of_data_is_kept(tmp_path: Path, label: str, case: str) -> None:
    rows = [*table(label), [NEW[label], *DATA[case][1:]]]
    frame, notes = read_frame(write(tmp_path / "t.csv", rows, ",", "."), ReadingSettings())
    assert len(frame) == ROWS + 1 and "left out" not in notes


@pytest.mark.parametrize(
    ("last", "is_footer"),
    [
        (["Sum", of_all(np.sum)[1]], True),
        (["Durchschnitt", of_all(np.mean)[1]], True),
        (["SD", of_all(deviation)[1]], True),
        (["* provisional", 99999], True),
        (["Source: own survey"], True),
        (["† corrected", 3000.55], True),
        (["not measured", 3000.55], False),
        (["(broken)", 3000.55], False),
        (["lost", of_all(np.min)[1]], False),
        (["?", 3000.55], False),
        (["n.a.", 3000.55], False),
        (["-", 99999], False),
        (["<5", 3000.55], False),
        (["", 3000.55], False),
        ([61, 99999], False),
    ],
)
def test_a_word_below_numbers_is_a_footer(
    tmp_path: Path, last: Sequence[object], is_footer: bool
) -> None:
    rows = [["weight", "cost"], *zip(WEIGHT.tolist(), COST.tolist(), strict=True), last]
    path = write(tmp_path / "t.csv", rows, ";", ",")
    frame, notes = read_frame(path, ReadingSettings())
    assert (len(frame) == ROWS) == is_footer == ("left out" in notes)


@pytest.mark.parametrize(
    "column",
    [
        [2.0**k for k in range(30)],
        [7] * 30,
        [*range(30)],
        np.cumsum(COUNT).tolist(),
        [k % 2 for k in range(30)],
    ],
)
def test_regular_columns_have_no_footer(tmp_path: Path, column: list[object]) -> None:
    rows = [["name", "y"], *zip(LABELS["name"], column, strict=False)]
    frame, notes = read_frame(write(tmp_path / "t.csv", rows, ",", "."), ReadingSettings())
    assert len(frame) == len(rows) - 1 and "left out" not in notes


@pytest.mark.parametrize("target", ["weight", "cost"])
@pytest.mark.parametrize("word", ["broken", "Remark", "updated"])
def test_a_word_that_may_be_data_is_asked_about(tmp_path: Path, word: str, target: str) -> None:
    rows = [["weight", "cost"], *zip(WEIGHT.tolist(), COST.tolist(), strict=True), [word, 3000.55]]
    path = write(tmp_path / "t.csv", rows, ",", ".")
    with raises_user_error("dataset.path", "last_rows", mentions=[word]):
        OwnTable(path=str(path), target=target).load()
    code = OwnTable(path=str(path), target=target, missing_values=[word], missing="drop")
    assert len(code.load().targets) == ROWS


def test_the_footer_of_a_sheet(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    rows = [*table("name"), *FOOTERS["all"], *FOOTERS["note"]]
    cells = pd.DataFrame([[None if c == "" else c for c in row] for row in rows])
    cells.to_excel(path, header=False, index=False)
    frame, notes = read_frame(path, ReadingSettings())
    assert len(frame) == ROWS and frame["weight"].tolist() == WEIGHT.tolist()
    assert frame.dtypes.iloc[1:].tolist() == [np.float64, np.float64, np.int64]
    assert f"row {ROWS + 2}" in notes and "Bron" in notes
