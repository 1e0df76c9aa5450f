"""Damaged runs are reported and skipped; the others are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command import Command
from support.damage import clear, flip_bit, truncate
from support.runs import add_arrays, add_checksums, add_search, make_run, metadata_of
from support.tiny_runs import Planner
from support.user_errors import raises_user_error

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import KIND, OBJECTIVE, OUT_OF_FOLD, PREDICTIONS
from bnnbench.results.read.run_tables import read_runs
from bnnbench.run_all import run_all

FILES = ("splits.csv", "predictions.npz", "out_of_fold.npz", "objective.npz", "record.json")


def make_intact_run(outputs: Path, method: str = "vadam") -> RunFolder:
    folder = make_run(outputs, method=method)
    add_search(folder)
    for name in (PREDICTIONS, OUT_OF_FOLD):
        add_arrays(folder, name)
    trace = {"split": [0, 0], "epoch": [1, 2], "loss": [2.0, 1.0], "complexity": [0.5, 0.4]}
    add_arrays(folder, OBJECTIVE, trace)
    add_checksums(folder, *FILES)
    return folder


def overwrite(path: Path) -> None:
    path.write_text('{"some": "thing else"}\n')


@pytest.mark.parametrize("damage", [truncate, clear, flip_bit, overwrite])
@pytest.mark.parametrize("name", [*FILES, "DONE"])
def test_a_damaged_file_is_reported_and_its_run_is_skipped(
    tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    folder = make_intact_run(tmp_path)
    make_intact_run(tmp_path, "pbp")
    damage(folder.root / name)
    runs = read_runs(tmp_path)
    assert runs.scored["method"].tolist() == ["pbp"]
    (sentence,) = runs.skipped
    assert str(folder.root) in sentence and name in sentence and "damaged" in sentence


@pytest.mark.usefixtures("without_figures")
def test_the_calibration_table_has_a_checksum(tiny: Planner) -> None:
    (folder,) = run_all([tiny("splits=1", "search.iterations=2")])
    done, path = folder.finished(), folder.table("calibration")
    assert done and {"calibration.csv", "summary.csv"} < done.files.keys()
    assert len(read_runs(folder.root).calibrations) == 1
    path.write_bytes(path.read_bytes().replace(b"0.", b"1.", 1))  # still a valid table
    with raises_user_error("calibration.csv", "damaged"):
        read_runs(folder.root)
    run_all([tiny("splits=1", "search.iterations=2")])
    assert len(read_runs(folder.root).calibrations) == 1


def test_a_record_with_missing_metadata(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    record: dict[str, Any] = {
        "kind": KIND,
        "digest": "0",
        "metadata": {**metadata_of()},
        "identity": {},
    }
    del record["metadata"]["dataset"]
    folder.record.write_text(json.dumps(record))
    with raises_user_error("record.json", "damaged") as error:
        read_runs(tmp_path)
    assert "lacks dataset" in str(error.value)


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_the_rest_of_the_report_is_written(command: Command, tmp_path: Path) -> None:
    folder = make_intact_run(tmp_path)
    make_intact_run(tmp_path, "pbp")
    make_intact_run(tmp_path, "bbb_x1")
    flip_bit(folder.arrays(PREDICTIONS))
    for arguments in (["report", str(tmp_path)], ["compare", str(tmp_path)]):
        code, out, errors = command(*arguments)
        assert code == 0 and "pbp" in out and "vadam" not in out
        (line,) = errors.splitlines()
        assert line.startswith("bnnbench: left out: ") and "predictions.npz is damaged" in line
    assert "vadam" not in (tmp_path / "report" / "results.md").read_text()


@pytest.mark.usefixtures("without_figures")
def test_an_error_if_all_runs_are_damaged(command: Command, tmp_path: Path) -> None:
    for method in ("vadam", "pbp"):
        truncate(make_intact_run(tmp_path, method).record)
    code, _, errors = command("report", str(tmp_path))
    (line,) = errors.splitlines()
    assert code == 2 and "record.json" in line and line.endswith(": 1.")


def test_invalid_folder_names(tmp_path: Path) -> None:
    for name in ("x" * 300, "a\0b"):
        with raises_user_error("path", "no_folder"):
            read_runs(tmp_path / name)


@pytest.mark.slow
def test_a_page_that_cannot_be_refreshed_is_reported(command: Command, tmp_path: Path) -> None:
    search = make_intact_run(tmp_path).table("search")
    make_intact_run(tmp_path, "pbp")
    overwrite(search)
    code, _, errors = command("report", "--refresh", str(tmp_path))
    assert code == 0 and "not refreshed: " in errors and "search.csv is damaged" in errors
