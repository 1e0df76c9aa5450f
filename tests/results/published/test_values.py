"""Published values that the user provides."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.blocks import blocks, data_files
from support.runs import make_run
from support.user_errors import raises_user_error

from bnnbench.report.blocks import Style
from bnnbench.report.sections.leaderboard import section
from bnnbench.results.compare.published_scores import with_published
from bnnbench.results.published.values import (
    NUMBER_COLUMNS,
    REQUIRED_COLUMNS,
    TEXT_COLUMNS,
    published_means,
    read_user_published,
)
from bnnbench.results.read.run_tables import USER_PUBLISHED_COLUMNS, Runs, read_runs

HEAD = "method,dataset,metric,mean,error,error_kind,n_splits,source,year"
ROWS = f"""{HEAD}
vadam,boston,rmse,4.50,0.3,stderr,,Smith,2024
swag,boston,rmse,3.2,0.5,std,25,Jones,2019
swag,boston,log_likelihood,-2,,,,,
"""

MISTAKES = {
    "no rows": (HEAD + "\n", "--published-values", "no_rows"),
    "an empty file": ("", "--published-values", "unreadable"),
    "a negative metric": (f"{HEAD}\na,b,NLL,1,,,,,\n", "metric", None),
    "ragged": (HEAD + "\na,b,rmse,1,2,std,3,s,2000,more,and\n", "--published-values", "unreadable"),
    "a missing column": ("method,dataset,metric\na,b,rmse\n", "--published-values", "columns"),
    "an unknown column": (f"{HEAD},eror\na,b,rmse,1,,,,,,2\n", "--published-values", "columns"),
    "an unknown metric": (f"{HEAD}\na,b,mse,1,,,,,\n", "--published-values", "unknown_name"),
    "no mean": (f"{HEAD}\na,b,rmse,1,,,,,\na,b,rmse,,,,,,\n", "mean", None),
    "not a number": (f"{HEAD}\na,b,rmse,1.x,,,,,\n", "mean", None),
    "infinity": (f"{HEAD}\na,b,rmse,inf,,,,,\n", "mean", None),
    "a negative error": (f"{HEAD}\na,b,rmse,1,-2,std,3,,\n", "error", None),
    "no kind of error": (f"{HEAD}\na,b,rmse,1,2,,,,\n", "error_kind", None),
    "an unknown kind of error": (f"{HEAD}\na,b,rmse,1,2,var,3,,\n", "error_kind", None),
    "a std without splits": (f"{HEAD}\na,b,rmse,1,2,std,,,\n", "n_splits", None),
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def runs(tmp_path: Path, file: Path) -> Runs:
    for method in ("vadam", "pbp"):
        make_run(tmp_path / "runs", method=method, times=5)
    return replace(read_runs(tmp_path / "runs"), user_published=read_user_published(file))


def test_it_has_the_columns_of_the_packaged_file(file: Path) -> None:
    rows = read_user_published(file)
    assert {*USER_PUBLISHED_COLUMNS} <= {*rows.columns} and {*published_means().columns} <= {
        *rows.columns
    }
    assert rows["stderr"].iloc[:2].tolist() == [0.3, 0.1]
    assert math.isnan(rows["stderr"].iloc[2])
    assert rows["decimals"].tolist() == [2, 1, 0], "decimals as written"
    file.write_text("method,dataset,metric,mean\na,b,rmse,6.3e-2\na,b,rmse,1E3\n")
    assert read_user_published(file)["decimals"].tolist() == [3, 0]


def test_semicolons_and_decimal_commas_are_detected(file: Path) -> None:
    expected = read_user_published(file)
    lines = (line.split(",") for line in ROWS.splitlines())
    file.write_text("\n".join(";".join(cells).replace(".", ",") for cells in lines))
    pd.testing.assert_frame_equal(read_user_published(file), expected)
    file.write_text(ROWS, "utf-8-sig")
    pd.testing.assert_frame_equal(read_user_published(file), expected)
    file.write_text("method;dataset;metric;mean;source\na;b;rmse;1.234,50;Größe, J.\n", "cp1252")
    (row,) = read_user_published(file).to_dict("records")
    assert (row["mean"], row["decimals"], row["source"]) == (1234.5, 2, "Größe, J.")


def test_the_packaged_file_has_the_same_columns() -> None:
    columns = {*REQUIRED_COLUMNS, *NUMBER_COLUMNS, *TEXT_COLUMNS}
    assert {*published_means().columns} - {"stderr"} == columns


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str, tmp_path: Path) -> None:
    text, setting, code = MISTAKES[name]
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with raises_user_error(setting, code) as error:
        read_user_published(path)
    assert str(path) in str(error.value)


def test_a_missing_file_a_folder_and_pipes(tmp_path: Path) -> None:
    for name in ("pipe.csv", "pipe.zip", "pipe.gz"):
        os.mkfifo(tmp_path / name)
        with raises_user_error("--published-values", "unreadable"):
            read_user_published(tmp_path / name)
    for path in (tmp_path, tmp_path / "nowhere.csv"):
        with raises_user_error("--published-values", "unreadable"):
            read_user_published(path)


def test_a_run_is_compared_with_the_value_of_its_method(runs: Runs) -> None:
    table = with_published(runs).set_index("method")
    assert table.loc["vadam", "rmse_published"] == 4.5
    assert table.loc["vadam", "rmse_source"] == "Smith 2024: vadam"
    assert table.loc["pbp", "rmse_source"].startswith("Hernández-Lobato")
    error = math.hypot(table.loc["vadam", "rmse_stderr"], 0.3)
    assert table.loc["vadam", "rmse_z"] == pytest.approx((5 - 4.5) / error)
    assert table.loc["vadam", "rmse_differs"] == "unknown"


def test_values_over_more_splits_have_no_z(runs: Runs) -> None:
    table = with_published(replace(runs, user_published=runs.user_published.assign(n_splits=25.0)))
    (vadam,) = (run for run in table.to_dict("records") if run["method"] == "vadam")
    assert vadam["rmse_published"] == 4.5 and math.isnan(vadam["rmse_z"])
    assert vadam["rmse_differs"] == f"unknown, {vadam['splits']} of 25 splits"


def test_the_leaderboard_contains_all_values(runs: Runs) -> None:
    assert not blocks(section, replace(runs, user_published=runs.user_published[:0]))
    (rows,) = data_files(blocks(section, runs)).values()
    assert set(rows["metric"]) == {"rmse", "log_likelihood"}, "only metrics of the file"
    assert rows[rows["metric"] == "rmse"]["method"].tolist() == ["swag", "vadam", "pbp", "vadam"]
    (rows,) = data_files(blocks(section, runs, Style(all_published=True))).values()
    assert len(rows) > 60 and {"Jones 2019", "user", "ours"} <= {*rows["source"]}
