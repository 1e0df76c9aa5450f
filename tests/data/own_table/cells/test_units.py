"""Numbers with units, signs and limits, and strings that only resemble them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.columns.encoding import encode_rows
from bnnbench.data.own_table.read.table_file import read_frame
from bnnbench.data.own_table.read.text_file import ReadingSettings
from bnnbench.data.own_table.source import OwnTable
from bnnbench.types import Table

ROWS = 24


def written(folder: Path, cells: Sequence[object], kind: str = "csv") -> Path:
    """Write a table whose column `a` repeats some cells."""
    path, rows = folder / f"t.{kind}", len(cells) * -(-ROWS // len(cells))
    frame = pd.DataFrame({"a": [*cells] * (rows // len(cells)), "y": np.arange(rows) ** 2 % 7})
    if kind == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep=";")
    return path


def load(path: Path, target: str = "y", **settings: str) -> Table:
    return OwnTable(path=str(path), target=target, **settings).load()  # type: ignore[arg-type]


UNITS: list[tuple[list[object], list[float], str]] = [
    (["4,5 %", "1,25 %", "12 %"], [4.5, 1.25, 12], "'%'"),
    (["£1,250", "£2,500.50", "£900"], [1250, 2500.5, 900], "'£'"),
    (["€ 1.250", "€ 2.500", "€ 900"], [1250, 2500, 900], "'€'"),
    (["12.5 km", "1.6km", "3\u00a0km"], [12.5, 1.6, 3], "'km'"),
    (["CHF 5", "CHF 7.5", "CHF -6"], [5, 7.5, -6], "'CHF'"),
    (["-$5", "$-6", "($7)", "$8"], [-5, -6, -7, 8], "'$'"),
    (["12 m²", "14.5 m2", "9 m^2"], [12, 14.5, 9], "'m"),
    (["7.5 L/100km", "8.1 L/100km", "9 L/100km"], [7.5, 8.1, 9], "'L/100km'"),
    (["20 °C", "\u22123 °C", "4.5 °C"], [20, -3, 4.5], "'°C'"),
    (["1 door", "2 doors", "4 doors"], [1, 2, 4], "'doors'"),
    ([*["5 kg", "6.5 kg", "7 kg"] * 6, "8"], [5, 6.5, 7], "'kg'"),
    (["1\u202f234,5 zł", "2\u202f000,5 zł", "1,5 zł"], [1234.5, 2000.5, 1.5], "'zł'"),
    (["(3.50)", "4.25", "2.5"], [-3.5, 4.25, 2.5], "'(3.50)' as -3.5"),
    (["$ (5.00)", "$ 4.25", "$ 2.5"], [-5, 4.25, 2.5], "'$ (5.00)' as -5"),
    (["£1.20/kg", "£2.50/kg", "£3/kg"], [1.2, 2.5, 3], "'£/kg'"),
    (["5k", "6.5k", "500k"], [5, 6.5, 500], "'k'"),
    (["<0.01", "0.5", "0.25"], [0.01, 0.5, 0.25], "'<0.01' as 0.01 in a"),
    (["10 Jahre", "1 Jahr", "5 Jahre"], [10, 1, 5], "'Jahre'"),
    (["3 Stunden", "1 Stunde", "2.5 Stunden"], [3, 1, 2.5], "'Stunden'"),
    (["100 mg/dL", "95 mg/dl", "90 mg/dL"], [100, 95, 90], "'mg/dL'"),
    (["Rs. 1,25,000", "Rs. 2,000", "Rs. 50"], [125000, 2000, 50], "'Rs.'"),
    (["~5", "6", "7.5"], [5, 6, 7.5], "'~5' as 5"),
    (["≤ 2", "> 90", "5", "7.5"], [2, 90, 5, 7.5], "'≤ 2' as 2 in a, '> 90' as 90 in a"),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize(("cells", "numbers", "note"), UNITS)
def test_numbers_with_units_are_read(
    tmp_path: Path, cells: list[object], numbers: list[float], note: str, kind: str
) -> None:
    path = written(tmp_path, cells, kind)
    table = load(path)
    assert table.inputs[: len(numbers), 0].tolist() == numbers
    assert note in table.warnings[0]
    assert load(path, "a").targets[: len(numbers)].tolist() == numbers


@pytest.mark.parametrize(
    "cells",
    [["S-0012", "S-0013"], ["A1", "A2"], ["5 stars 3", "4 stars 2"],
     ["12:30", "11:45"], ["1.2.3", "1.2.4"], ["10x20", "12x2"], ["5-10", "11-20"], ["S", "M"],
     ["555-1234", "555-1235"], ["3rd", "1st", "4th"], ["4th", "5th"], ["0x1F", "0x2A"],
     ["1A", "2B", "3F"], ["1-", "2", "3-"], ["<18", ">18"], ["(1)", "(2)"], ["5+", "3"],
     ["7 pm", "8 am"], ["007 X", "008 X"], ["Room 1", "Room 2"], ["5 ± 1", "6 ± 1"], ["#5", "#6"],
     ["3-pack", "6-pack"], ["5_km", "6_km"], ["5'6\"", "6'1\""], ["2h 30", "1h 15"]],
)  # fmt: skip
def test_other_texts_stay_categories(tmp_path: Path, cells: list[object]) -> None:
    (encoding,) = load(written(tmp_path, cells), categorical="onehot").encodings
    assert encoding.values == tuple(sorted(map(str, cells)))


@pytest.mark.parametrize(
    ("cells", "row"),
    [(["5 km", "6 km", "300 m"], 3), (["5 MW", "7 MW", "6 mW"], 3),
     (["5 kg", "7 g"], 2), (["£5", "£6", "$7"], 3),
     (["5 mg/dl", "1 mmol/l"], 2), (["5k", "7k", "1.5M"], 3),
     (["20 °C", "21 °C", "70 °F", "?"], 3), (["5 EUR", "USD 5"], 2)],
)  # fmt: skip
@pytest.mark.parametrize("target", ["a", "y"])
def test_mixed_units_are_refused(
    tmp_path: Path, cells: list[object], row: int, target: str
) -> None:
    case = ("dataset.path", "column_issue") if target == "y" else ("dataset.target", "not_numeric")
    with raises_user_error(*case, mentions=[cells[row - 1], f"data row {row}"]):
        load(written(tmp_path, cells), target, categorical="onehot")


def test_a_multiplier_must_be_in_all_cells(tmp_path: Path) -> None:
    with raises_user_error("dataset.path", "column_issue"):
        load(written(tmp_path, [*[f"{k}k" for k in range(1, 24)], "500"]))


def test_a_typed_text_is_no_number(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": ["5 km", "600 m"] * 8, "y": np.arange(16.0)}).to_parquet(path)
    assert load(path, categorical="onehot").features == ("a=5 km", "a=600 m")


KM = ["1,5 km", "2,25 km", "12 km"]


@pytest.mark.parametrize(
    ("known", "new", "numbers", "notes"),
    [
        (KM, ["7,5 km", "8"], [7.5, 8], 1),
        (KM, ["7,5 KM"], [7.5], 0),
        (KM, ["7,5", "8"], [7.5, 8], 1),
        (KM, ["<7,5 km"], [7.5], 0),
        (["5k", "1,5k"], ["7k", "2,5k"], [7, 2.5], 0),
        (["5k", "1,5k"], ["7k", "7000"], None, 2),
        (KM, ["7 km", "1.2.3 km"], None, 2),
        (["(3,5)", "4,5"], ["(1,5)"], [-1.5], 0),
        (KM, ["300 m"], None, 1),
        (KM, ["7 km", "300 m"], None, 2),
        (["1,5", "2"], ["7 km"], None, 1),
    ],
)
def test_new_rows_have_the_unit_of_the_table(
    tmp_path: Path, known: list[object], new: list[object], numbers: list[float] | None, notes: int
) -> None:
    """Without numbers, the new rows are refused, and `notes` is the data row."""
    encodings = load(written(tmp_path, known)).encodings
    (tmp_path / "new.csv").write_text("\n".join(["a;b", *(f"{cell};0" for cell in new)]))
    frame, _ = read_frame(tmp_path / "new.csv", ReadingSettings())
    if numbers is None:
        with raises_user_error("a", mentions=[f"data row {notes}"]):
            encode_rows(frame, encodings, "new.csv")
        return
    inputs, _, warnings = encode_rows(frame, encodings, "new.csv")
    assert inputs[:, 0].tolist() == numbers
    assert len(warnings) == notes
