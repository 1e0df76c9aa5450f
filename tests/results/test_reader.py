"""A folder of runs is read once, into tables keyed by digests."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pandas as pd
import pytest
from support.runs import make_folder, make_run, make_splits, names_of

from bnnbench.experiment.split_files import SPLITS
from bnnbench.results.reader import Runs, read_runs, require_scores
from bnnbench.types import UserError


def test_a_row_per_finished_run_in_their_order(tmp_path: Path) -> None:
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


def test_a_copy_of_a_run_counts_once(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    shutil.copytree(folder.root, tmp_path / "elsewhere" / "v1")
    assert len(read_runs(tmp_path).scored) == 1


def test_runs_of_other_kinds_have_a_table_of_their_own(tmp_path: Path) -> None:
    names = {"experiment": "line", "dataset": "line", "method": "bbb"}
    make_folder(tmp_path, names, "v1", "toy")
    runs = read_runs(tmp_path)
    assert runs.scored.empty and runs.tables["toy"]["method"].tolist() == ["bbb"]
    with pytest.raises(UserError, match="those of experiment=line show their results themselves"):
        require_scores(runs)
    make_run(tmp_path)
    both = read_runs(tmp_path)
    require_scores(both)
    assert both.scored["depth"].tolist() == [1] and both.scored["made"].tolist() == [False]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"There is no folder .*nowhere"):
        read_runs(tmp_path / "nowhere")
    with pytest.raises(UserError, match="holds no finished run"):
        read_runs(tmp_path)
    folder = make_run(tmp_path)
    folder.table(SPLITS).write_text("")
    with pytest.raises(UserError, match=r"splits\.csv is missing or not a table"):
        read_runs(tmp_path)
    folder.table(SPLITS).write_text("split,rmse\n0,1.0\n")
    with pytest.raises(UserError, match=r"splits\.csv is missing or not a table"):
        read_runs(tmp_path)
    make_splits().drop(columns="test_rows").to_csv(folder.table(SPLITS), index=False)
    with pytest.raises(UserError, match=r"which rows its splits test.* --force\."):
        read_runs(tmp_path)
    folder.record.unlink()
    with pytest.raises(UserError, match=r"record\.json is missing or damaged"):
        read_runs(tmp_path)


def test_a_diagnostic_of_some_runs_is_a_column_of_all(tmp_path: Path) -> None:
    make_run(tmp_path, **{"diag.kept_samples": [1.0, 2.0, 3.0, 6.0]})
    make_run(tmp_path, method="vadam")
    column = read_runs(tmp_path).scored["diag.kept_samples_mean"]
    assert column.iloc[0] == 3 and math.isnan(column.iloc[1])


def test_what_is_made_of_runs_is_made_once() -> None:
    made = []

    def make(runs: Runs) -> int:
        made.append(runs)
        return 7

    runs = Runs(Path(), {}, pd.DataFrame(), {})
    assert [runs.once(make), runs.once(make)] == [7, 7] and made == [runs]


def test_names_of_a_run_are_columns(tmp_path: Path) -> None:
    make_run(tmp_path)
    (row,) = read_runs(tmp_path).scored.to_dict("records")
    names = names_of()
    assert {name: row[name] for name in names} == names
