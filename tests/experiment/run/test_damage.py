"""Damaged files are detected by checksum and written again; intact ones are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.damage import clear, flip_bit, truncate
from support.tiny_runs import Planner, finished

from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import run_status
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import MACHINE_COLUMNS
from bnnbench.files import read_bytes

Damage = Callable[[Path], object]


DAMAGES: list[Damage] = [truncate, clear, flip_bit, Path.unlink]


def assert_same_results(first: pd.DataFrame, second: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(
        first.drop(columns=MACHINE_COLUMNS), second.drop(columns=MACHINE_COLUMNS), check_exact=True
    )


def with_each(damages: list[Damage], first: str, *others: str) -> list[tuple[str, Damage]]:
    """Return one file with all kinds of damage, and the others with one."""
    return [*((first, damage) for damage in damages), *((name, flip_bit) for name in others)]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("name", "damage"),
    with_each(DAMAGES, "splits.csv", "search.csv", "predictions.npz", "record.json"),
)
def test_a_damaged_file_of_a_finished_run_is_written_again(
    tiny: Planner, name: str, damage: Damage
) -> None:
    run = tiny("splits=2", "search.iterations=2")
    folder, table = finished(run)
    path = folder.root / name
    before = path.read_bytes()
    damage(path)
    status = run_status(run)
    assert status.files == (name,) and not status.units and len(status.messages) == 1
    assert run.store.intact("split-00"), "nothing is run again"
    assert_same_results(finished(run)[1], table)
    assert path.read_bytes() == before and run_status(run).intact


@pytest.mark.ci
@pytest.mark.parametrize(
    ("suffix", "damage"), with_each(DAMAGES[:3], "json", "predictions.npz", "out_of_fold.npz")
)
def test_a_damaged_unit_is_run_again_with_new_ones(
    tiny: Planner, suffix: str, damage: Damage
) -> None:
    first, both = tiny("splits=1"), tiny("splits=2")
    _, table = finished(first)
    damage(first.store.file("split-00", suffix))
    assert run_status(both).units == run_status(first).units == ("split-00",)
    _, again = finished(both)
    assert both.store.intact("split-00") and again["split"].tolist() == [0, 1]
    assert_same_results(again.iloc[:1], table)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["splits.csv", "DONE", "work/split-00.json", "config.yaml"])
def test_a_folder_in_the_place_of_a_file(tiny: Planner, name: str) -> None:
    """An empty folder is deleted; any other is named in an error and kept."""
    run = tiny("splits=2")
    folder, table = finished(run)
    path = folder.root / name
    path.unlink()
    path.mkdir()
    if name == "config.yaml":
        folder.done.unlink()
    assert_same_results(finished(run)[1], table)
    path.unlink()
    path.mkdir()
    (path / "mine").touch()
    folder.done.unlink(missing_ok=True) if name != "DONE" else None
    with pytest.raises(IsADirectoryError) as error:
        finished(run)
    assert error.value.filename == str(path) and (path / "mine").exists()
    assert not list(folder.root.rglob(".*")), "no temporary file"


def test_checksums_are_compared_once(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    run, read = tiny("splits=2"), list[Path]()
    finished(run)

    def counted(path: Path) -> bytes:
        read.append(path)
        return read_bytes(path)

    monkeypatch.setattr("bnnbench.experiment.store.run_folder.read_bytes", counted)
    finished(run)
    assert len(read) == len({*read}) > 4


@pytest.mark.parametrize("damage", [flip_bit, Path.unlink])
def test_a_damaged_derived_table_is_written_again(tiny: Planner, damage: Damage) -> None:
    run = tiny("splits=1")

    def derive(folder: RunFolder) -> list[str]:
        folder.table("mine").write_text("derived\n")
        return ["mine.csv", "not_there.csv"]

    folder = execute(run, derive)
    done = folder.finished()
    assert done and "mine.csv" in done.files and "not_there.csv" not in done.files
    damage(folder.table("mine"))
    assert run_status(run).files == ("mine.csv",)
    execute(run, derive)
    assert run_status(run).intact and folder.table("mine").read_text() == "derived\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage", [truncate, clear, Path.unlink, lambda path: path.write_text("{}")]
)
def test_a_damaged_mark_is_ignored(tiny: Planner, damage: Damage) -> None:
    run = tiny("splits=1")
    folder, table = finished(run)
    damage(folder.done)
    assert not run.complete()
    assert_same_results(finished(run)[1], table)
    assert run.complete()


def test_a_damaged_configuration_is_written_again(tiny: Planner) -> None:
    first, both = tiny("splits=1"), tiny("splits=2")
    folder, _ = finished(first)
    truncate(folder.config)
    finished(both)
    assert "learning_rate" in folder.config.read_text()


def test_a_search_resumes_before_the_damaged_line(tiny: Planner) -> None:
    run, whole = tiny("splits=1"), tiny("splits=1", "experiment.label=other")
    _, table = finished(whole)
    finished(run)
    log = run.store.file("split-00", "trials.jsonl")
    kept = log.read_bytes().split(b"\n")[0]
    run.store.file("split-00", "json").unlink()
    log.write_bytes(log.read_bytes().replace(b"\n", b"\n?", 1))
    _, again = finished(run)
    assert log.read_bytes().startswith(kept)
    np.testing.assert_array_equal(again["rmse"], table["rmse"])
