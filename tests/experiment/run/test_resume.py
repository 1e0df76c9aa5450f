"""A run that is killed at any moment resumes and gives bit-identical results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from support.command import Command
from support.config import TINY
from support.killing import WAIT, evaluations, wait_for
from support.tiny_runs import finished, tiny_run

from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.split_files import MACHINE_COLUMNS

pytestmark = pytest.mark.integration

# Long enough to be killed during the search.
LONG_RUN = ("search.iterations=8", "training.epochs=4000")


def words(table: Path, outputs: Path, *more: str) -> list[str]:
    """Return the arguments of the command to run."""
    base = ["dataset=csv", f"dataset.path={table}", "dataset.target=y", f"outputs_dir={outputs}"]
    return ["run", *base, *TINY, *LONG_RUN, *more]


def start(*given: str) -> subprocess.Popen[str]:
    # A shell that runs the tests in the background makes its children ignore Ctrl-C.
    return subprocess.Popen(
        [sys.executable, "-m", "bnnbench", *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def tables(run: Run) -> tuple[pd.DataFrame, pd.DataFrame]:
    folder, splits = finished(run)
    search = pd.read_csv(folder.table("search"))
    return splits.drop(columns=MACHINE_COLUMNS), search.drop(columns=["seconds", "suggest_seconds"])


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "after"), [(1, 3), (2, 5)])
def test_kill_and_resume(table_csv: Path, tmp_path: Path, workers: int, after: int) -> None:
    """`kill -9` of the main process must also end its workers."""
    if workers > (os.cpu_count() or 1):
        pytest.skip("needs two cores")
    outputs = tmp_path / "killed"
    process = start(*words(table_csv, outputs, f"workers={workers}"))
    wait_for(outputs, after)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.communicate()
    kept = evaluations(outputs)
    assert after <= kept < 16, "the kill came too late to test anything"
    resumed = tiny_run(table_csv, outputs, *LONG_RUN, f"workers={workers}")
    assert resumed.folder.work.is_dir() and not resumed.complete()
    whole = tiny_run(table_csv, tmp_path / "whole", *LONG_RUN)
    for ours, expected in zip(tables(resumed), tables(whole), strict=True):
        pd.testing.assert_frame_equal(ours, expected, check_exact=True)
    before = resumed.folder.done.stat().st_mtime_ns
    assert finished(resumed)[0] == resumed.folder
    assert resumed.folder.done.stat().st_mtime_ns == before


@pytest.mark.ci
def test_ctrl_c_and_a_second_process(command: Command, table_csv: Path, tmp_path: Path) -> None:
    # Long enough to run until the second process has been refused, on any machine.
    given = words(table_csv, tmp_path / "out", "workers=1", "search.iterations=2000")
    process = start(*given)
    wait_for(tmp_path, 1)
    command.assert_refused(*given, code="locked")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=WAIT)
    assert process.returncode == 130, errors
    assert "the last finished evaluation" in errors
    assert "Traceback" not in errors
