"""Runs received from others: no file of theirs stops a report, hangs, or reaches the terminal."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command import Command
from support.runs import add_checksums, make_run
from support.user_errors import assert_user_error

from bnnbench.experiment.run_folder import RunFolder, find_run, read_record
from bnnbench.results.reader import read_runs
from bnnbench.types import UserError

Tamper = Callable[[RunFolder], object]

NESTED = "[" * 100_000
"""JSON whose reading exceeds the limit of recursion."""


def edit_json(name: str, *keys: str, value: Any) -> Tamper:
    """Return a function that changes a value in a JSON file and corrects the checksums."""

    def change(folder: RunFolder) -> None:
        content = json.loads((folder.root / name).read_text())
        inner = content
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        (folder.root / name).write_text(json.dumps(content))
        if name == "record.json":
            add_checksums(folder, "record.json")

    return change


def replace_by(name: str, make: Callable[[Path], object]) -> Tamper:
    """Return a function that replaces a file by what `make` creates."""

    def change(folder: RunFolder) -> None:
        (folder.root / name).unlink(missing_ok=True)
        make(folder.root / name)

    return change


TAMPERED: dict[str, Tamper] = {
    "a pipe for the record": replace_by("record.json", os.mkfifo),
    "a pipe for the mark": replace_by("DONE", os.mkfifo),
    "a pipe for the scores": replace_by("splits.csv", os.mkfifo),
    "a pipe that is not read": replace_by("figures", os.mkfifo),
    "a device": replace_by("splits.csv", lambda path: path.symlink_to("/dev/zero")),
    "a link to itself": replace_by("splits.csv", lambda path: path.symlink_to(path)),
    "a folder elsewhere": replace_by("figures", lambda path: path.symlink_to("/")),
    "an absolute name": edit_json("DONE", "files", value={"/dev/zero": "0"}),
    "a name above": edit_json("DONE", "page", value={"../x": "0"}),
    "a null byte": edit_json("DONE", "files", value={"a\0": "0"}),
    "units that are numbers": edit_json("DONE", "units", value=[1]),
    "no date": edit_json("DONE", "finished", value="today"),
    "a nested mark": replace_by("DONE", lambda path: path.write_text(NESTED)),
    "a nested record": replace_by("record.json", lambda path: path.write_text(NESTED)),
    "a list for a name": edit_json("record.json", "metadata", "method", value=["vadam"]),
    "null for a name": edit_json("record.json", "metadata", "dataset", value=None),
    "NaN for a name": edit_json("record.json", "metadata", "method", value=float("nan")),
    "NaN for a number": edit_json("record.json", "metadata", "order", value=float("nan")),
    "a mapping for a number": edit_json("record.json", "metadata", "depth", value={"a": 1}),
    "an escape in a name": edit_json("record.json", "metadata", "method", value="\x1b]0;a\x07"),
    "LaTeX in a name": edit_json("record.json", "metadata", "method", value=r"$\input{/a}$"),
    "a line break in a name": edit_json("record.json", "metadata", "dataset", value="a\nb"),
    "markup in a name": edit_json("record.json", "metadata", "dataset", value="[/x]"),
    "a list for settings": edit_json("record.json", "identity", value=[1]),
    "a number for code": edit_json("record.json", "kind", value=3),
}


@pytest.mark.ci
@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_run_is_left_out_and_named(tmp_path: Path, name: str) -> None:
    make_run(tmp_path, method="bbb")
    other = make_run(tmp_path, method="vadam")
    add_checksums(other, "record.json", "splits.csv")
    TAMPERED[name](other)
    found = read_runs(tmp_path)
    assert list(found.scored["method"]) == ["bbb"]
    assert len(found.skipped) == 1 and str(other.root) in found.skipped[0]
    assert found.skipped[0].isprintable()


def test_a_run_that_would_hang_is_refused_at_once(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    (folder.root / "model").mkdir()
    os.mkfifo(folder.root / "model" / "model.json")
    with pytest.raises(UserError) as error:
        find_run(folder.root)
    assert_user_error(error, "model.json", "irregular_file")
    with pytest.raises(UserError) as error:
        folder.create()
    assert_user_error(error, "model.json", "irregular_file")


def test_a_link_inside_the_run_is_accepted(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    (folder.root / "copy.csv").symlink_to("splits.csv")
    assert find_run(tmp_path).root == folder.root


def test_texts_of_a_record_are_printable(tmp_path: Path) -> None:
    folder = make_run(tmp_path, target="t\x1b[2J", settings=None)
    assert read_record(folder).metadata["target"] == r"t\x1b[2J"


@pytest.mark.usefixtures("without_figures")
def test_show_and_report_print_no_escape_sequence(command: Command, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs", target="t\x1b[2J")
    table = folder.table("splits")
    table.write_text(table.read_text().replace("hp.prior_precision", "hp.\x1b]0;a\x07"))
    for words in (["show", str(folder.root)], ["report", str(tmp_path / "runs")]):
        _, out, errors = command(*words)
        assert "\x1b" not in out + errors
