"""Parallel execution in forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial

import pytest

from bnnbench.forks import can_fork, run_both, run_in_forks


def index_and_process(k: int) -> tuple[int, int]:
    return k, os.getpid()


@pytest.mark.usefixtures("forks_allowed")
@pytest.mark.parametrize("processes", [1, 2, 3, 9])
def test_results_are_in_order(processes: int) -> None:
    found = run_in_forks([partial(index_and_process, k) for k in range(5)], processes)
    assert [k for k, _ in found] == [0, 1, 2, 3, 4]
    assert len({process for _, process in found}) == min(processes, 5)


@pytest.mark.usefixtures("forks_allowed")
def test_results_that_cannot_be_pickled() -> None:
    """The first function runs in this process; others are repeated in it."""

    def unpicklable() -> threading.Lock:
        return threading.Lock()

    first, second = run_both(os.getpid, os.getpid, 2)
    assert first == os.getpid() != second
    assert all(lock.acquire() for lock in run_both(unpicklable, unpicklable, 2))


def test_no_functions() -> None:
    assert run_in_forks([], 2) == []


def test_a_process_with_threads_is_not_forked() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert not can_fork()
    stop.set()
    thread.join()


@pytest.mark.slow
def test_idle_processes_of_joblib_do_not_prevent_forks() -> None:
    command = (
        "from joblib import Parallel, delayed; from bnnbench.forks import can_fork, stop_joblib;"
        "Parallel(n_jobs=2)(delayed(abs)(k) for k in range(4));"
        "before = can_fork(); stop_joblib();"
        "import time; time.sleep(1); print(before, can_fork())"  # its threads end a little later
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.stdout == "False True\n", done.stderr
