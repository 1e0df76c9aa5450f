"""A file operation of a command fails, or the command is killed there; then it is repeated."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from attack.attempt import OutcomeCheck, Verdict, attempt, files
from attack.command_lines import command, write_table
from attack.crashes import FaultInjector, fail_with, run_killed_at
from attack.sampling import FULL, MODE, sample

from bnnbench.experiment.split_files import MACHINE_COLUMNS

ERRORS: Mapping[str, Callable[[int], FaultInjector]] = {
    "full disk": lambda at: FaultInjector(fail_with(errno.ENOSPC), at),
    "disk error": lambda at: FaultInjector(fail_with(errno.EIO), at, once=True, reads=True),
    "read-only disk": lambda at: FaultInjector(fail_with(errno.EROFS), at),
}
"""The disk is full or read-only from an operation on, or one operation fails."""

CHUNKS = 16 if MODE == "full" else 1
"""Parts of the operations of a command, which are tested in parallel."""

COMMANDS = {
    "run": ["run", "dataset=csv", "dataset.path=t.csv", "dataset.target=y", "method=linear",
            "splits=2", "workers=1"],
    "report": ["report"],
    "predict": ["predict", "outputs", "t.csv", "-o", "outputs/predicted.csv"],
}  # fmt: skip


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and a finished run."""
    folder = tmp_path_factory.mktemp("finished")
    write_table(folder / "t.csv")
    assert attempt(COMMANDS["run"], folder).verdict == Verdict.RAN
    return folder


@pytest.fixture(scope="session")
def expected(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders in which each command has run undisturbed."""
    folders = {name: tmp_path_factory.mktemp(name) / "cwd" for name in COMMANDS}
    for name, folder in folders.items():
        start(name, finished, folder)
        assert attempt(COMMANDS[name], folder).verdict == Verdict.RAN
    return folders


def start(name: str, finished: Path, folder: Path) -> None:
    """Make the folder in which a command starts."""
    shutil.copytree(finished, folder, dirs_exist_ok=True)
    if name == "run":
        shutil.rmtree(folder / "outputs")


def operations(name: str, finished: Path, folder: Path, error: str) -> int:
    """Count the file operations of a command."""
    start(name, finished, folder)
    injector = ERRORS[error](10**9)
    with injector.active(folder):
        assert attempt(COMMANDS[name], folder).verdict == Verdict.RAN
    shutil.rmtree(folder)
    return injector.seen


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("error", ERRORS if FULL else ["full disk", "disk error"])
@pytest.mark.parametrize("name", COMMANDS)
def test_an_operation_fails(
    check_outcome: OutcomeCheck,
    finished: Path,
    expected: dict[str, Path],
    empty: Path,
    name: str,
    error: str,
    chunk: int,
) -> None:
    """Nothing is half written, and the same command then gives the same bits."""
    count = operations(name, finished, empty, error)
    assert count > 10
    for moment in sample(range(1 + chunk, count + 1, CHUNKS), 1):
        start(name, finished, empty)
        with ERRORS[error](moment).active(empty):
            outcome = attempt(COMMANDS[name], empty)
        wrong = differences(name, empty, expected[name], partial=outcome.code != 0)
        complete = replace(outcome, leftover_files=())  # `wrong` if one of them is not
        check_outcome(f"{error}, {name}", complete, wrong=wrong)
        again = attempt(COMMANDS[name], empty)
        wrong = differences(name, empty, expected[name])
        check_outcome(f"{error}, {name}", again, wrong=wrong)
        shutil.rmtree(empty)


def differences(name: str, folder: Path, expected: Path, partial: bool = False) -> str:
    """Why the files are not those of the undisturbed command, if so; some may be missing."""
    if name == "run":
        return "" if partial or rows(folder).equals(rows(expected)) else "other numbers"
    new = files(folder) if partial else files(expected)
    wrong = [
        file
        for file in new
        if not (folder / file).is_dir()
        and (not (folder / file).exists() or contents(folder, file) != contents(expected, file))
    ]
    return f"differ: {wrong}" if wrong else ""


def contents(folder: Path, file: str) -> bytes:
    return (folder / file).read_bytes() if (folder / file).is_file() else b""


def rows(folder: Path) -> pd.DataFrame:
    (file,) = folder.glob("outputs/uci/t/*/*/splits.csv")
    return pd.read_csv(file).drop(columns=MACHINE_COLUMNS)


MAX_WRITES = 300
"""Upper bound on the number of changes of files in a run of two splits with a search."""


def searched(table: Path) -> list[str]:
    return command(table, (), "splits=2")


@pytest.fixture(scope="session")
def unkilled(tmp_path_factory: pytest.TempPathFactory, table: Path) -> pd.DataFrame:
    """The rows of an undisturbed run, all of whose changes of files are attacked."""
    folder = tmp_path_factory.mktemp("whole")
    moments = ERRORS["full disk"](10**9)
    with moments.active(folder):
        assert attempt(searched(table), folder).verdict == Verdict.RAN
    assert MAX_WRITES // 2 < moments.seen <= MAX_WRITES
    return rows(folder)


@pytest.mark.parametrize("moment", sample(range(1, MAX_WRITES + 1, 5), 2))
def test_killed(
    check_outcome: OutcomeCheck, table: Path, unkilled: pd.DataFrame, empty: Path, moment: int
) -> None:
    run_killed_at(searched(table), empty, moment)
    outcome = attempt(searched(table), empty)
    wrong = "" if outcome.code or rows(empty).equals(unkilled) else "other numbers than unkilled"
    check_outcome("kill points", outcome, wrong=wrong)
