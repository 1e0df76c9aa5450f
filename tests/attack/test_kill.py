"""A run that is killed at any moment of its writing is ended by the same command, alike."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from attack.attempts import Judge, Verdict, attempt
from attack.dying import Moments, full, killed_at
from attack.form import FULL
from attack.typed import command
from support.quick import no_figures

from bnnbench.experiment.split_files import CIRCUMSTANCES

WRITES = 70
"""How often a run of two splits makes, keeps or names a file, or more."""

KILLED = range(1, WRITES + 1, 1 if FULL else 23)
FULL_AT = range(2, WRITES + 1, 1 if FULL else 23)


def words(table: Path) -> list[str]:
    return command(table, (), "splits=2")


def rows(folder: Path) -> pd.DataFrame:
    (file,) = folder.glob("outputs/uci/t/vadam/*/splits.csv")
    return pd.read_csv(file).drop(columns=CIRCUMSTANCES)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, table: Path) -> pd.DataFrame:
    """The rows of a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole")
    with no_figures():
        assert attempt(words(table), folder).code == 0
    return rows(folder)


@pytest.mark.parametrize("moment", KILLED)
def test_killed(judge: Judge, table: Path, whole: pd.DataFrame, empty: Path, moment: int) -> None:
    with no_figures():
        killed_at(words(table), empty, moment)
        outcome = attempt(words(table), empty)
    wrong = "" if outcome.code or rows(empty).equals(whole) else "other numbers than unkilled"
    judge("kill points", outcome, wrong=wrong)


@pytest.mark.parametrize("moment", FULL_AT)
def test_the_disk_is_full(
    judge: Judge, table: Path, whole: pd.DataFrame, empty: Path, moment: int
) -> None:
    """From a moment on; then there is room again."""
    with no_figures():
        with Moments(full(), moment).watched():
            outcome = attempt(words(table), empty)
        judge("full disk", outcome)
        again = attempt(words(table), empty)
    assert again.verdict == Verdict.RAN, str(again)
    assert rows(empty).equals(whole)


def test_a_run_has_fewer_writes_than_are_attacked(table: Path, tmp_path: Path) -> None:
    """So that no moment is left out."""
    moments = Moments(full(), at=10**6)
    with no_figures(), moments.watched():
        attempt(words(table), tmp_path)
    shutil.rmtree(tmp_path)
    assert 10 < moments.seen <= WRITES
