"""Killed at any moment, the same command goes on and ends with the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from filelock import FileLock
from support.config import TINY
from support.tiny_runs import TIMES

from bnnbench.experiment import trial_log
from bnnbench.experiment.run_folder import RunFolder

WAIT = 120.0  # seconds a step may take on a busy machine before the test gives up


def arguments(table: Path, outputs: Path, workers: int) -> list[str]:
    settings = [t for t in TINY if not t.startswith("search.iterations")]
    return [
        *(sys.executable, "-m", "bnnbench", "run", "dataset=csv", f"dataset.path={table}"),
        *("dataset.target=y", f"outputs_dir={outputs}", f"workers={workers}", *settings),
        *("search.iterations=8", "training.epochs=150"),
    ]


def start(command: list[str]) -> subprocess.Popen[str]:
    # A shell that runs the tests in the background has told its children to ignore Ctrl-C.
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finish(command: list[str]) -> RunFolder:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("results: ")
    return RunFolder(Path(last.removeprefix("results: ")))


def evaluations(outputs: Path) -> int:
    return sum(trial_log.count(path) for path in outputs.rglob(f"*.{trial_log.SUFFIX}"))


def wait_for(outputs: Path, count: int) -> None:
    deadline = time.monotonic() + WAIT
    while evaluations(outputs) < count:
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def shared_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    path = tmp_path_factory.mktemp("data") / "table.csv"
    pd.DataFrame(x, columns=list("abc")).assign(y=np.sin(x[:, 0]) + x[:, 1]).to_csv(
        path, index=False
    )
    return path


@pytest.fixture(scope="module")
def uninterrupted(
    shared_table: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[pd.DataFrame, pd.DataFrame]:
    folder = finish(arguments(shared_table, tmp_path_factory.mktemp("whole"), 1))
    return read(folder)


def read(folder: RunFolder) -> tuple[pd.DataFrame, pd.DataFrame]:
    splits = pd.read_csv(folder.table("splits")).drop(columns=TIMES)
    return splits, pd.read_csv(folder.table("search")).drop(columns=["seconds", "suggest_seconds"])


@pytest.mark.parametrize(("workers", "after"), [(1, 3), (2, 5)])
def test_kill_and_resume(
    shared_table: Path,
    uninterrupted: tuple[pd.DataFrame, pd.DataFrame],
    tmp_path: Path,
    workers: int,
    after: int,
) -> None:
    """`kill -9` of the main process alone: workers must not live on as orphans."""
    if workers > (os.cpu_count() or 1):
        pytest.skip("needs two cores")
    command = arguments(shared_table, tmp_path, workers)
    process = start(command)
    wait_for(tmp_path, after)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.communicate()
    kept = evaluations(tmp_path)
    assert after <= kept < 16, "the kill came too late to test anything"
    folder = finish(command)
    for ours, expected in zip(read(folder), uninterrupted, strict=True):
        pd.testing.assert_frame_equal(ours, expected, check_exact=True)
    started = folder.root / "DONE"
    before = started.stat().st_mtime_ns
    assert finish(command) == folder and started.stat().st_mtime_ns == before


def test_ctrl_c_says_how_to_go_on_and_a_second_process_is_refused(
    shared_table: Path, tmp_path: Path
) -> None:
    # So long that it still runs when the second process has been refused, on any machine.
    command = [*arguments(shared_table, tmp_path, 1), "search.iterations=2000"]
    process = start(command)
    wait_for(tmp_path, 1)
    second = subprocess.run(command, capture_output=True, text=True)
    assert second.returncode == 2
    assert "another bnnbench process is working in" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=WAIT)
    assert process.returncode == 130
    assert "the same command goes on from the last finished evaluation" in errors
    assert "Traceback" not in errors


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    """A killed run leaves its lock file behind; that must not lock anybody out."""
    path = tmp_path / "run.lock"
    code = f"import filelock, os; filelock.FileLock({str(path)!r}).acquire(); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    with FileLock(path, timeout=0):
        assert path.exists()
