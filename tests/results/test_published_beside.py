"""Published values that a reader brings."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.runs import make_run

from bnnbench.report.section import Data, Style
from bnnbench.report.sections.leaderboard import section
from bnnbench.results.published import published
from bnnbench.results.published_beside import NEEDED, NUMBERS, TEXTS, read_beside
from bnnbench.results.reader import BESIDE, Runs, read_runs
from bnnbench.results.with_published import with_published
from bnnbench.types import UserError

HEAD = "method,dataset,metric,mean,error,error_kind,n_splits,source,year"
ROWS = f"""{HEAD}
vadam,boston,rmse,4.50,0.3,stderr,,Smith,2024
swag,boston,rmse,3.2,0.5,std,25,Jones,2019
swag,boston,log_likelihood,-2,,,,,
"""

MISTAKES = {
    "no rows": (HEAD + "\n", "has no rows"),
    "nothing": ("", "is empty"),
    "a negative metric": (f"{HEAD}\na,b,NLL,1,,,,,\n", "line 2 .* write log_likelihood and turn"),
    "ragged": (HEAD + "\na,b,rmse,1,2,std,3,s,2000,more,and\n", "cannot be read as CSV"),
    "a column less": ("method,dataset,metric\na,b,rmse\n", "lacks the column mean"),
    "a column more": (f"{HEAD},eror\na,b,rmse,1,,,,,,2\n", "has a column 'eror'"),
    "an unknown metric": (f"{HEAD}\na,b,mse,1,,,,,\n", "column metric: there is no 'mse' here"),
    "no mean": (f"{HEAD}\na,b,rmse,1,,,,,\na,b,rmse,,,,,,\n", "line 3 of .* has no mean"),
    "no number": (f"{HEAD}\na,b,rmse,1.x,,,,,\n", "line 2 of .* has no number for mean"),
    "infinity": (f"{HEAD}\na,b,rmse,inf,,,,,\n", "has no number for mean"),
    "a negative error": (f"{HEAD}\na,b,rmse,1,-2,std,3,,\n", "has a negative error"),
    "no kind": (f"{HEAD}\na,b,rmse,1,2,,,,\n", "needs an error_kind for its error"),
    "another kind": (f"{HEAD}\na,b,rmse,1,2,var,3,,\n", "needs an error_kind for its error"),
    "a std of no splits": (f"{HEAD}\na,b,rmse,1,2,std,,,\n", "needs n_splits for its std"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def runs(tmp_path: Path, file: Path) -> Runs:
    for method in ("vadam", "pbp"):
        make_run(tmp_path / "runs", method=method, times=5)
    return replace(read_runs(tmp_path / "runs"), beside=read_beside(file))


def test_it_is_read_as_the_packaged_ones(file: Path) -> None:
    rows = read_beside(file)
    assert {*BESIDE} <= {*rows.columns} and {*published().columns} <= {*rows.columns}
    assert rows["stderr"].iloc[:2].tolist() == [0.3, 0.1]
    assert math.isnan(rows["stderr"].iloc[2])
    assert rows["decimals"].tolist() == [2, 1, 0], "as they are written"
    file.write_text("method,dataset,metric,mean\na,b,rmse,6.3e-2\na,b,rmse,1E3\n")
    assert read_beside(file)["decimals"].tolist() == [3, 0]


def test_semicolons_and_decimal_commas_are_found_out(file: Path) -> None:
    expected = read_beside(file)
    lines = (line.split(",") for line in ROWS.splitlines())
    file.write_text("\n".join(";".join(cells).replace(".", ",") for cells in lines))
    pd.testing.assert_frame_equal(read_beside(file), expected)
    file.write_text(ROWS, "utf-8-sig")
    pd.testing.assert_frame_equal(read_beside(file), expected)
    file.write_text("method;dataset;metric;mean;source\na;b;rmse;1.234,50;Größe, J.\n", "cp1252")
    (row,) = read_beside(file).to_dict("records")
    assert (row["mean"], row["decimals"], row["source"]) == (1234.5, 2, "Größe, J.")


def test_the_columns_are_those_of_the_packaged_file() -> None:
    assert {*published().columns} - {"stderr"} == {*NEEDED, *NUMBERS, *TEXTS} - {"splits"}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str, tmp_path: Path) -> None:
    text, words = MISTAKES[name]
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=words) as caught:
        read_beside(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere.csv"):
        with pytest.raises(UserError, match="cannot be read as CSV"):
            read_beside(path)


def test_a_value_stands_beside_the_run_of_its_name(runs: Runs) -> None:
    table = with_published(runs).set_index("method")
    assert table.loc["vadam", "rmse_published"] == 4.5
    assert table.loc["vadam", "rmse_source"] == "Smith 2024: vadam"
    assert table.loc["pbp", "rmse_source"].startswith("Hernandez-Lobato")
    error = math.hypot(table.loc["vadam", "rmse_stderr"], 0.3)
    assert table.loc["vadam", "rmse_z"] == pytest.approx((5 - 4.5) / error)
    assert table.loc["vadam", "rmse_differs"] == "not on record"


def test_beside_a_value_of_more_splits_there_is_no_z(runs: Runs) -> None:
    table = with_published(replace(runs, beside=runs.beside.assign(n_splits=25.0)))
    (vadam,) = (run for run in table.to_dict("records") if run["method"] == "vadam")
    assert vadam["rmse_published"] == 4.5 and math.isnan(vadam["rmse_z"])
    assert vadam["rmse_differs"] == f"not on record, {vadam['splits']} of 25 splits"


def test_all_stand_in_a_table_with_ours(runs: Runs) -> None:
    found = section(runs, Style())
    assert found is not None and section(replace(runs, beside=runs.beside[:0]), Style()) is None
    (data,) = (block for block in found.blocks if isinstance(block, Data))
    rows = data.table
    assert set(rows["metric"]) == {"rmse", "log_likelihood"}, "only what was brought"
    assert rows[rows["metric"] == "rmse"]["method"].tolist() == ["swag", "vadam", "pbp", "vadam"]
    every = section(runs, Style(published="all"))
    assert every is not None
    (data,) = (block for block in every.blocks if isinstance(block, Data))
    assert len(data.table) > 60 and {"Jones 2019", "brought", "ours"} <= {*data.table["source"]}
