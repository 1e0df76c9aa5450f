"""A run that is killed at any write is completed by the same command, with the same results."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from attack.attempt import OutcomeCheck, Verdict, attempt
from attack.command_lines import command
from attack.crashes import FaultInjector, disk_full, run_killed_at
from attack.sampling import FULL
from support.quick import no_figures

from bnnbench.experiment.split_files import MACHINE_COLUMNS

MAX_WRITES = 70
"""Upper bound on the number of counted calls in a run of two splits."""

KILL_MOMENTS = range(1, MAX_WRITES + 1, 1 if FULL else 23)
DISK_FULL_MOMENTS = range(2, MAX_WRITES + 1, 1 if FULL else 23)


def words(table: Path) -> list[str]:
    return command(table, (), "splits=2")


def rows(folder: Path) -> pd.DataFrame:
    (file,) = folder.glob("outputs/uci/t/vadam/*/splits.csv")
    return pd.read_csv(file).drop(columns=MACHINE_COLUMNS)


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory, table: Path) -> pd.DataFrame:
    """The rows of an undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    with no_figures():
        assert attempt(words(table), folder).code == 0
    return rows(folder)


@pytest.mark.parametrize("moment", KILL_MOMENTS)
def test_killed(
    check_outcome: OutcomeCheck, table: Path, undamaged: pd.DataFrame, empty: Path, moment: int
) -> None:
    with no_figures():
        run_killed_at(words(table), empty, moment)
        outcome = attempt(words(table), empty)
    wrong = "" if outcome.code or rows(empty).equals(undamaged) else "other numbers than unkilled"
    check_outcome("kill points", outcome, wrong=wrong)


@pytest.mark.parametrize("moment", DISK_FULL_MOMENTS)
def test_the_disk_is_full(
    check_outcome: OutcomeCheck, table: Path, undamaged: pd.DataFrame, empty: Path, moment: int
) -> None:
    """The disk is full from one write on; later there is space again."""
    with no_figures():
        with FaultInjector(disk_full(), moment).active():
            outcome = attempt(words(table), empty)
        check_outcome("full disk", outcome)
        again = attempt(words(table), empty)
    assert again.verdict == Verdict.RAN, str(again)
    assert rows(empty).equals(undamaged)


def test_all_writes_of_a_run_are_attacked(table: Path, tmp_path: Path) -> None:
    moments = FaultInjector(disk_full(), at=10**6)
    with no_figures(), moments.active():
        attempt(words(table), tmp_path)
    shutil.rmtree(tmp_path)
    assert 10 < moments.seen <= MAX_WRITES
