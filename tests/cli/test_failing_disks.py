"""A full, faulty or read-only disk, or `kill -9`, at some file operation of a command.

The command ends with one line and exit code 1, or 2 if a file or folder that the user named cannot
be used; no file is half written; and the same command then gives the same numbers.
"""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from support.auditing import watched
from support.command import PROGRESS, Command
from support.faults import Disk, fail_with, kill_at

from bnnbench.experiment.store.split_files import MACHINE_COLUMNS

pytestmark = pytest.mark.usefixtures("without_figures")

COMMANDS = {
    "run": ["run", "dataset=csv", "dataset.path=t.csv", "dataset.target=y", "method=linear",
            "splits=2", "workers=1"],
    "report": ["report"],
    "predict": ["predict", "outputs", "t.csv", "-o", "outputs/predicted.csv"],
}  # fmt: skip

OUTPUTS = {"report": "outputs/report/results.csv", "predict": "outputs/predicted.csv"}

TEMPORARY = re.compile(r"\.[^/]+\.[a-z0-9_]{8}")
"""Names of the files that `bnnbench.files.write_atomically` moves into place."""


FAILURES: dict[str, tuple[int, bool, str]] = {
    "full": (errno.ENOSPC, False, "the disk is full"),
    "read-only": (errno.EROFS, False, "the file system is read-only"),
    "faulty": (errno.EIO, True, "disk input/output error"),
}
"""The error, whether it occurs once, and how it is called."""


@pytest.fixture
def prepared(command: Command) -> Callable[[str], list[str]]:
    """Return a function that prepares the folder of a command and returns its words."""
    rows = [f"{i},{i % 7},{i * i % 11}" for i in range(20)]
    Path("t.csv").write_text("\n".join(["a,b,y", *rows]))

    def prepare(name: str) -> list[str]:
        if name != "run":
            assert command(*COMMANDS["run"])[0] == 0
            shutil.copytree("outputs", "before")
        return COMMANDS[name]

    return prepare


def start_again() -> None:
    """Restore the folder in which a command starts."""
    shutil.rmtree("outputs", ignore_errors=True)
    if Path("before").exists():
        shutil.copytree("before", "outputs")


def numbers(name: str) -> pd.DataFrame:
    """Return the numbers that a command wrote, without times."""
    if name in OUTPUTS:
        return pd.read_csv(OUTPUTS[name])
    (file,) = Path().glob("outputs/uci/t/*/*/splits.csv")
    return pd.read_csv(file).drop(columns=MACHINE_COLUMNS)


def moments(count: int) -> list[int]:
    """Return the first, a middle and the last operation."""
    assert count >= 10
    return [1, count // 2, count]


def assert_continues(command: Command, name: str, words: list[str], whole: pd.DataFrame) -> None:
    """Assert that the same command now gives the same numbers."""
    code, _, errors = command(*words)
    assert code == 0, errors
    pd.testing.assert_frame_equal(numbers(name), whole, check_exact=True)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("run", "full"), ("predict", "read-only"), ("predict", "faulty"),
     pytest.param("run", "faulty", marks=pytest.mark.ci),
     pytest.param("report", "full", marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_disk_fails(
    command: Command, prepared: Callable[[str], list[str]], name: str, kind: str
) -> None:
    words, (number, once, said) = prepared(name), FAILURES[kind]
    disk = Disk(fail_with(number), 0, once=True) if once else Disk(lambda: None, 10**9)
    with watched(Path.cwd(), disk):
        assert command(*words)[0] == 0
    whole, codes = numbers(name), []
    for moment in moments(disk.seen):
        start_again()
        with watched(Path.cwd(), Disk(fail_with(number), moment, once)):
            code, _, errors = command(*words)
        codes.append(code)
        if code:
            lines = [line for line in errors.splitlines() if not line.endswith(PROGRESS)]
            messages = [line for line in lines if line.startswith("bnnbench: ")]
            assert "Traceback" not in errors and lines[-1:] == messages[-1:], errors
            assert code == 2 or (code == 1 and said in messages[-1]), errors
        assert not [path for path in Path().rglob(".*") if TEMPORARY.fullmatch(path.name)]
        assert_continues(command, name, words, whole)
    assert 1 in codes


@pytest.mark.ci
def test_a_killed_run_continues(command: Command, prepared: Callable[[str], list[str]]) -> None:
    words, disk = prepared("run"), Disk(lambda: None, 10**9)
    with watched(Path.cwd(), disk):
        assert command(*words)[0] == 0
    whole = numbers("run")
    for moment in moments(disk.seen)[1:]:
        start_again()
        kill_at(moment, Path.cwd(), lambda: command(*words))
        assert_continues(command, "run", words, whole)
