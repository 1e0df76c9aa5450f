"""Reading a folder of runs into tables indexed by digest."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pandas as pd
import pytest
from support.runs import make_folder, make_run, make_splits, metadata_of
from support.user_errors import raises_user_error

from bnnbench.experiment.store.split_files import SPLITS
from bnnbench.results.read.run_tables import Runs, read_runs, require_scores
from bnnbench.types import UserError


def test_there_is_a_row_per_finished_run_in_sorted_order(tmp_path: Path) -> None:
    make_run(tmp_path, method="vadam")
    make_run(tmp_path)
    make_run(tmp_path, method="pbp").done.unlink()
    make_run(tmp_path / "report", dataset="yacht")
    runs = read_runs(tmp_path)
    table = runs.scored
    assert table["method"].tolist() == ["bbb_x1", "vadam"]
    assert table["variant"].tolist() == ["v1", "v1"]
    assert table["splits"].tolist() == [4, 4] and table["diverged"].tolist() == [0, 0]
    assert table["rmse_stderr"].tolist() == pytest.approx([math.sqrt(14 / 12)] * 2)
    assert set(runs.splits["run"]) == set(table.index) == set(runs.folders)
    one = read_runs(tmp_path / "uci" / "boston" / "vadam" / "v1")
    assert one.scored["method"].tolist() == ["vadam"]


def test_copies_of_a_run_are_counted_once(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    shutil.copytree(folder.root, tmp_path / "elsewhere" / "v1")
    assert len(read_runs(tmp_path).scored) == 1


def test_runs_of_other_kinds_have_their_own_table(tmp_path: Path) -> None:
    names = {"experiment": "line", "dataset": "line", "method": "bbb"}
    make_folder(tmp_path, names, "v1", "toy")
    runs = read_runs(tmp_path)
    assert runs.scored.empty and runs.tables["toy"]["method"].tolist() == ["bbb"]
    with raises_user_error("path", "no_scores") as error:
        require_scores(runs)
    assert "experiment=line" in str(error.value)
    make_run(tmp_path)
    both = read_runs(tmp_path)
    require_scores(both)
    assert both.scored["depth"].tolist() == [1] and both.scored["synthetic"].tolist() == [False]


def assert_unreadable(path: Path, setting: str, code: str) -> None:
    with raises_user_error(setting, code):
        read_runs(path)


def test_missing_and_damaged_files_are_reported(tmp_path: Path) -> None:
    assert_unreadable(tmp_path / "nowhere", "path", "no_folder")
    assert_unreadable(tmp_path, "path", "no_run")
    folder = make_run(tmp_path)
    lacking = make_splits().drop(columns="test_rows").to_csv(index=False)
    for text in ("", "split,rmse\n0,1.0\n", lacking):
        folder.table(SPLITS).write_text(text)
        assert_unreadable(tmp_path, "splits.csv", "damaged")
    folder.record.unlink()
    with pytest.raises(UserError, match=r"record\.json"):
        read_runs(tmp_path)


def test_a_diagnostic_of_some_runs_is_missing_for_the_others(tmp_path: Path) -> None:
    make_run(tmp_path, **{"diag.kept_samples": [1.0, 2.0, 3.0, 6.0]})
    make_run(tmp_path, method="vadam")
    column = read_runs(tmp_path).scored["diag.kept_samples_mean"]
    assert column.iloc[0] == 3 and math.isnan(column.iloc[1])


def test_cached_results_are_computed_once() -> None:
    calls = []

    def compute(runs: Runs) -> int:
        calls.append(runs)
        return 7

    runs = Runs(Path(), {}, pd.DataFrame(), {})
    assert [runs.cached(compute), runs.cached(compute)] == [7, 7] and calls == [runs]


def test_metadata_of_a_run_are_columns(tmp_path: Path) -> None:
    make_run(tmp_path)
    (row,) = read_runs(tmp_path).scored.to_dict("records")
    metadata = metadata_of()
    assert {name: row[name] for name in metadata} == metadata
