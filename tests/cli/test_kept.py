"""`bnnbench kept`: lists, checks and adds kept results."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command import Command
from support.kept import kept_run, scores_of_others
from support.runs import add_checksums

import bnnbench
from bnnbench.results.kept.edition import editions, read_edition


def test_list_of_tracks_and_missing_cells(command: Command, tmp_path: Path) -> None:
    kept_run(tmp_path / "out", method="vadam")
    kept_run(tmp_path / "out", method="pbp", n_splits=18)
    edition = str(tmp_path / "mine")
    code, out, _ = command("kept", "add", str(tmp_path / "out"), "--by", "me", "--edition", edition)
    assert code == 0 and "2 runs added" in out
    code, out, _ = command("kept", "--edition", edition)
    assert code == 0 and "edition mine (open)" in out
    assert re.search(r"^ *book +2 +1 ", out, re.M)
    cells = {line.split()[0]: line.split() for line in out.splitlines() if line.split()}
    assert cells["vadam"][1:3] == ["20", "-"] and cells["pbp"][1:4] == ["18", "of", "20"]
    assert cells["gp"][1:] == ["-", "-", "-", "n/a", "n/a", "n/a", "n/a", "-", "-"]
    assert "gp accepts at most 2,000 training rows" in out
    (boston,) = [line for line in out.splitlines() if line.endswith("dataset=boston")]
    methods = boston.split("method=")[1].split()[0].split(",")
    assert "pbp" in methods and "hmc" in methods and not {"vadam", "cavi"} & {*methods}


def test_check_prints_faults_and_marks(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    scores_of_others().to_csv(path, index=False)
    assert command("kept", "check", str(path))[:2] == (
        0,
        "1 runs without faults, 0 on other data\n",
    )
    table = scores_of_others().iloc[:18].assign(colour="red")
    table.assign(log_likelihood=-table["log_likelihood"]).to_csv(path, index=False)
    code, out, _ = command("kept", "check", str(path))
    assert code == 1
    assert out.count("\nrefused: ") == 2 and out.count("\nmarked: ") == 1
    code, out, _ = command("kept", "add", str(path), "--by", "me", "--edition", str(tmp_path / "e"))
    assert code == 1 and not (tmp_path / "e").exists()


def test_freeze(command: Command, tmp_path: Path) -> None:
    kept_run(tmp_path / "out")
    words = ("kept", "add", str(tmp_path / "out"), "--by", "me", "--edition", str(tmp_path / "e"))
    assert command(*words)[0] == 0
    assert command("kept", "freeze", str(tmp_path / "e"))[0] == 0
    assert read_edition(str(tmp_path / "e")).frozen
    command.assert_refused(*words, setting="--edition", code="frozen")


@pytest.mark.ci
@pytest.mark.usefixtures("without_figures")
def test_splits_of_a_kept_run_are_computed_again(
    command: Command, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BNNBENCH_DATA", str(data))
    settings = ("method=linear", "dataset=boston", "splits=[0,7]")
    run = bnnbench.fit(*settings, f"outputs_dir={tmp_path / 'out'}")
    edition, digest = str(tmp_path / "e"), run.folder.root.name.rpartition("-")[2]
    words = ("kept", "--edition", edition, "verify", digest, "--splits", "1")
    add = ("kept", "add", str(tmp_path / "out"), "--by", "me", "--edition", edition)
    assert command(*add)[0] == 0
    code, out, _ = command(*words)
    assert code == 0 and out.count(" rmse ") == 1 and "was computed with" not in out
    table = run.splits.assign(rmse=run.splits["rmse"] * 1.001)
    table.to_csv(run.folder.table("splits"), index=False)
    add_checksums(run.folder, "splits.csv")
    assert command(*add)[0] == 0
    assert command(*words)[0] == 1
    words = ("kept", "--edition", edition, "verify", "0123")
    command.assert_refused(*words, setting="RUN", code="unknown_run")


@pytest.mark.parametrize(
    ("arguments", "setting", "code"),
    [
        (["--edition", "nowhere"], "edition", "unknown_edition"),
        (["check", "nowhere"], "path", "no_folder"),
        (["add", "."], "--by", None),
        (["add", ".", "--by", "me", "--tuning", "magic"], "tuning", None),
        (["freeze", "nowhere"], "edition", "unknown_edition"),
    ],
)
def test_mistakes(command: Command, arguments: list[str], setting: str, code: str | None) -> None:
    command.assert_refused("kept", *arguments, setting=setting, code=code)


def test_the_frame_of_all_splits() -> None:
    table, edition = bnnbench.kept(), read_edition()
    assert set(table["track"]) == {"book"} and len(table) < len(bnnbench.kept(track=None)) + 1
    assert len(bnnbench.kept(next(iter(editions())), track=None)) == len(edition.splits)
    pbp = table[(table["method"] == "pbp") & (table["dataset"] == "boston")]
    assert len(pbp) == 20 and 2.5 < pbp["rmse"].mean() < 3.5


@pytest.mark.ci
def test_a_verdict_takes_at_most_ten_seconds(tmp_path: Path) -> None:
    scores_of_others().to_csv(tmp_path / "scores.csv", index=False)
    started = time.perf_counter()
    command = [sys.executable, "-m", "bnnbench", "kept", "check", str(tmp_path / "scores.csv")]
    subprocess.run(command, check=True, capture_output=True)
    assert time.perf_counter() - started < 10
