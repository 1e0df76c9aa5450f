"""A file operation of a command fails, or the command is killed there; then it is repeated."""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from attack.attempt import OutcomeCheck, Verdict, attempt, files
from attack.command_lines import command, write_table
from attack.crashes import FaultInjector, attempt_in_child, fail_with, kill
from attack.sampling import FULL, sample

from bnnbench.experiment.split_files import MACHINE_COLUMNS

ERRORS: Mapping[str, Callable[[int], FaultInjector]] = {
    "full disk": lambda at: FaultInjector(fail_with(errno.ENOSPC), at),
    "disk error": lambda at: FaultInjector(fail_with(errno.EIO), at, once=True, reads=True),
    "read-only disk": lambda at: FaultInjector(fail_with(errno.EROFS), at),
}
"""The disk is full or read-only from an operation on, or one operation fails."""

NUMBERS = re.compile(b"[-+.0-9a-f]+")
"""Numbers and hexadecimal digests."""

NEVER = 10**9
"""The number of no operation."""

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


Undisturbed = Callable[[str, str], tuple[Path, int]]
"""Type of the fixture `undisturbed`."""


@pytest.fixture(scope="session")
def undisturbed(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """`undisturbed(command, error)`: where it ran, and how many operations the error can hit."""

    @cache
    def run(name: str, error: str) -> tuple[Path, int]:
        folder, injector = tmp_path_factory.mktemp(name) / "cwd", ERRORS[error](NEVER)
        start(name, finished, folder)
        with injector.active(folder):  # not in a child, so that all children have the imports
            assert attempt(COMMANDS[name], folder).verdict == Verdict.RAN
        return folder, injector.seen

    return run


def start(name: str, finished: Path, folder: Path) -> None:
    """Make the folder in which a command starts."""
    shutil.copytree(finished, folder, dirs_exist_ok=True)
    if name == "run":
        shutil.rmtree(folder / "outputs")


@pytest.fixture(scope="session")
def continued() -> set[Hashable]:
    """Commands and the files from which they were continued."""
    return set()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "error"), [*(product if FULL else zip)(COMMANDS, ERRORS)])
def test_an_operation_fails(
    record_outcome: Callable[..., str],
    finished: Path,
    undisturbed: Undisturbed,
    continued: set[Hashable],
    empty: Path,
    name: str,
    error: str,
) -> None:
    """Nothing is half written, and the same command then gives the same bits.

    It is continued once from each set of files, since many failures leave the same files.
    """
    expected, count = undisturbed(name, error)
    assert count > 10

    def failure(at: int) -> list[str]:
        outcome = attempt_in_child(COMMANDS[name], empty, ERRORS[error](at))
        assert outcome, f"operation {moment} killed the command"
        outcome = replace(outcome, leftover_files=())  # `wrong` if one of them is not complete
        wrong = differences(name, empty, expected, partial=at != NEVER and outcome.code != 0)
        described = record_outcome(f"{error}, {name}", outcome, wrong=wrong)
        return [f"operation {moment}: {described}"] if described else []

    failures = []
    for moment in sample(range(1, count + 1), 1):
        start(name, finished, empty)
        failures += failure(moment)
        left = name, state(empty)
        if left not in continued:
            continued.add(left)
            failures += failure(NEVER)
        shutil.rmtree(empty)
    assert not failures, "\n\n".join(failures)


def state(folder: Path) -> frozenset[tuple[str, bytes]]:
    """The files in a folder, without numbers, since they include times, and without digests."""
    return frozenset((name, NUMBERS.sub(b"", contents(folder, name))) for name in files(folder))


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
    moments = ERRORS["full disk"](NEVER)
    with moments.active(folder):
        assert attempt(searched(table), folder).verdict == Verdict.RAN
    assert MAX_WRITES // 2 < moments.seen <= MAX_WRITES
    return rows(folder)


@pytest.mark.ci
@pytest.mark.parametrize("moment", sample(range(1, MAX_WRITES + 1, 5), 1))
def test_killed(
    check_outcome: OutcomeCheck, table: Path, unkilled: pd.DataFrame, empty: Path, moment: int
) -> None:
    attempt_in_child(searched(table), empty, FaultInjector(kill, moment))
    outcome = attempt(searched(table), empty)
    wrong = "" if outcome.code or rows(empty).equals(unkilled) else "other numbers than unkilled"
    check_outcome("kill points", outcome, wrong=wrong)
