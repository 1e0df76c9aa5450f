"""`bnnbench reference`: lists, adds and verifies reference results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command import Command
from support.reference import reference_run
from support.runs import add_checksums

import bnnbench
from bnnbench.results.reference.results import PACKAGED, read_reference_results


def test_list_of_tracks_and_missing_cells(command: Command, tmp_path: Path) -> None:
    reference_run(tmp_path / "out", method="vadam")
    reference_run(tmp_path / "out", method="pbp", n_splits=18)
    folder = str(tmp_path / "mine")
    code, out, _ = command("reference", "add", str(tmp_path / "out"), "--folder", folder)
    assert code == 0 and "2 runs added" in out
    code, out, _ = command("reference", "--folder", folder)
    assert code == 0 and "reference results in" in out
    assert re.search(r"^ *book +2 +1 ", out, re.M)
    cells = {line.split()[0]: line.split() for line in out.splitlines() if line.split()}
    assert cells["vadam"][1:3] == ["20", "-"] and cells["pbp"][1:4] == ["18", "of", "20"]
    assert cells["gp"][1:] == ["-", "-", "-", "n/a", "n/a", "n/a", "n/a", "-", "-"]
    assert "gp accepts at most 2,000 training rows" in out
    (boston,) = [line for line in out.splitlines() if line.endswith("dataset=boston")]
    methods = boston.split("method=")[1].split()[0].split(",")
    assert "pbp" in methods and "hmc" in methods and not {"vadam", "cavi"} & {*methods}


def test_several_folders_and_a_refused_run(command: Command, tmp_path: Path) -> None:
    reference_run(tmp_path / "a", method="vadam")
    reference_run(tmp_path / "b", method="pbp")
    reference_run(tmp_path / "b", method="swag", codes=())
    words = ("reference", "add", str(tmp_path / "a"), str(tmp_path / "b"), "--folder", "e")
    code, out, _ = command(*words)
    assert code == 1 and "2 runs added" in out and out.count("\nrefused: ") == 1
    assert set(read_reference_results("e").runs["method"]) == {"vadam", "pbp"}


@pytest.mark.ci
@pytest.mark.usefixtures("without_figures")
def test_splits_of_a_reference_run_are_computed_again(command: Command, tmp_path: Path) -> None:
    settings = ("method=linear", "dataset=boston", "splits=[0,7]")
    run = bnnbench.fit(*settings, f"outputs_dir={tmp_path / 'out'}")
    folder, digest = str(tmp_path / "e"), run.folder.root.name.rpartition("-")[2]
    words = ("reference", "--folder", folder, "verify", digest, "--splits", "1")
    add = ("reference", "add", str(tmp_path / "out"), "--folder", folder)
    assert command(*add)[0] == 0
    code, out, _ = command(*words)
    assert code == 0 and out.count(" rmse ") == 1 and "another version" not in out
    table = run.splits.assign(rmse=run.splits["rmse"] * 1.001)
    table.to_csv(run.folder.table("splits"), index=False)
    add_checksums(run.folder, "splits.csv")
    assert command(*add)[0] == 0
    assert command(*words)[0] == 1
    words = ("reference", "--folder", folder, "verify", "0123")
    command.assert_refused(*words, setting="RUN", code="unknown_run")


def test_the_frame_of_all_splits() -> None:
    table, results = bnnbench.reference(), read_reference_results()
    assert set(table["track"]) == {"book"} and len(table) < len(bnnbench.reference(track=None)) + 1
    assert len(bnnbench.reference(PACKAGED, track=None)) == len(results.splits)
    pbp = table[(table["method"] == "pbp") & (table["dataset"] == "boston")]
    assert len(pbp) == 20 and 2.5 < pbp["rmse"].mean() < 3.5
