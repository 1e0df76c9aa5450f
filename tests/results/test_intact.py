"""A damaged run is named and left out; the others are there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.runs import add_arrays, add_search, make_run, names_of, seal, unseal

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import KIND, OBJECTIVE, OUT_OF_FOLD, PREDICTIONS, SPLITS
from bnnbench.report.split_page import write_split_page
from bnnbench.results.calibration import gather_calibration
from bnnbench.results.reader import read_runs
from bnnbench.types import UserError

Command = Callable[..., tuple[int, str, str]]

FILES = ("splits.csv", "predictions.npz", "out_of_fold.npz", "objective.npz", "record.json")


def make_whole(outputs: Path, method: str = "vadam") -> RunFolder:
    folder = make_run(outputs, method=method)
    add_search(folder)
    for name in (PREDICTIONS, OUT_OF_FOLD):
        add_arrays(folder, name)
    trace = {"split": [0, 0], "epoch": [1, 2], "loss": [2.0, 1.0], "complexity": [0.5, 0.4]}
    add_arrays(folder, OBJECTIVE, trace)
    seal(folder, *FILES)
    return folder


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(bytes(content))


def replaced(path: Path) -> None:
    path.write_text('{"some": "thing else"}\n')


@pytest.mark.parametrize("damage", [halved, emptied, flipped, replaced])
@pytest.mark.parametrize("name", FILES)
def test_a_file_with_a_checksum(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    folder = make_whole(tmp_path)
    make_whole(tmp_path, "pbp")
    damage(folder.root / name)
    runs = read_runs(tmp_path)
    assert runs.scored["method"].tolist() == ["pbp"]
    (sentence,) = runs.left_out
    assert str(folder.root / name) in sentence and "damaged" in sentence


@pytest.mark.parametrize("damage", [halved, emptied, replaced])
@pytest.mark.parametrize("name", [*FILES, "DONE"])
def test_a_file_of_an_earlier_version(
    tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    folder = make_whole(tmp_path)
    unseal(folder)
    make_whole(tmp_path, "pbp")
    damage(folder.root / name)
    runs = read_runs(tmp_path)
    assert runs.scored["method"].tolist() == ["pbp"]
    assert name in runs.left_out[0]


@pytest.mark.parametrize("damage", [halved, emptied, replaced])
def test_what_the_page_of_a_run_wrote(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder = make_whole(tmp_path)
    make_whole(tmp_path, "pbp")
    write_split_page(folder)
    whole = read_runs(tmp_path)
    assert len(whole.calibrations) == 1 and not whole.mended
    damage(folder.table("calibration"))
    runs = read_runs(tmp_path)
    (sentence,) = runs.mended
    assert "calibration.csv is damaged; its numbers are computed anew" in sentence
    assert not runs.left_out and not runs.calibrations
    pd.testing.assert_frame_equal(gather_calibration(runs), gather_calibration(whole))


@pytest.mark.usefixtures("undrawn")
def test_what_the_page_of_a_run_wrote_has_a_checksum(command: Command, tmp_path: Path) -> None:
    folder = make_whole(tmp_path)
    assert command("report", "--refresh", str(tmp_path))[0] == 0
    path = folder.table("calibration")
    before, digits = path.read_text(), path.read_bytes().replace(b"0.1", b"0.2")
    done = folder.finished()
    assert done and list(done.page) == ["calibration.csv"]
    path.write_bytes(digits)  # a table all the same
    code, _, errors = command("report", str(tmp_path))
    assert code == 0 and "calibration.csv is damaged; its numbers are" in errors
    code, _, errors = command("report", "--refresh", str(tmp_path))
    assert code == 0 and errors == "" and path.read_text() == before


def test_fewer_rows_than_units(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    lines = folder.table(SPLITS).read_text().splitlines(keepends=True)
    folder.table(SPLITS).write_text("".join(lines[:-1]))
    with pytest.raises(UserError, match=r"splits\.csv has 3 of 4 splits although .* DONE"):
        read_runs(tmp_path)


def test_a_record_without_names(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    record: dict[str, Any] = {"kind": KIND, "digest": "0", "names": {**names_of()}, "identity": {}}
    del record["names"]["dataset"]
    folder.record.write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"record\.json says nothing of dataset"):
        read_runs(tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_the_rest_of_the_report_is_written(command: Command, tmp_path: Path) -> None:
    folder = make_whole(tmp_path)
    make_whole(tmp_path, "pbp")
    make_whole(tmp_path, "bbb_x1")
    flipped(folder.arrays(PREDICTIONS))
    for arguments in (["report", str(tmp_path)], ["compare", str(tmp_path)]):
        code, out, errors = command(*arguments)
        assert code == 0 and "pbp" in out and "vadam" not in out
        (line,) = errors.splitlines()
        assert line.startswith("bnnbench: left out: ") and "predictions.npz is damaged" in line
    assert "vadam" not in (tmp_path / "report" / "results.md").read_text()


@pytest.mark.usefixtures("undrawn")
def test_nothing_is_left(command: Command, tmp_path: Path) -> None:
    for method in ("vadam", "pbp"):
        halved(make_whole(tmp_path, method).record)
    code, _, errors = command("report", str(tmp_path))
    (line,) = errors.splitlines()
    assert code == 2 and "record.json is missing or damaged" in line and "1 more" in line


def test_names_that_no_folder_can_have(tmp_path: Path) -> None:
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(UserError, match="There is no folder"):
            read_runs(tmp_path / name)


@pytest.mark.usefixtures("undrawn")
def test_a_page_that_cannot_be_written_anew_is_named(command: Command, tmp_path: Path) -> None:
    emptied_search = make_whole(tmp_path).table("search")
    make_whole(tmp_path, "pbp")
    replaced(emptied_search)
    code, _, errors = command("report", "--refresh", str(tmp_path))
    assert code == 0 and "not refreshed: " in errors and "search.csv is damaged" in errors
