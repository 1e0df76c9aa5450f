"""Worker processes inherit loaded objects and end with their block."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
import torch
from joblib import cpu_count

from bnnbench.cli.exit_codes import describe_failure
from bnnbench.experiment.engines.local import (
    WorkerCrash,
    wait_for_all,
    worker_processes,
)
from bnnbench.system import START_METHOD, available_cores

LOADED: list[str] = []
"""Filled by a test before its workers start."""


def note(folder: Path, task: int) -> None:
    """Write the process, its number of threads and `LOADED` to a file."""
    threads = torch.get_num_threads()
    (folder / str(task)).write_text(f"{os.getpid()} {threads} {','.join(LOADED)}")
    time.sleep(0.05)


def fail(task: int) -> None:
    raise ValueError(f"task {task}")


def die(number: int) -> None:
    faulthandler.disable()  # which prints the stack of pytest
    os.kill(os.getpid(), number)


def test_tasks_run_in_other_processes_of_one_thread_each(tmp_path: Path) -> None:
    with worker_processes(2) as pool:
        wait_for_all([pool.submit(note, tmp_path, task) for task in range(6)])
    notes = [(tmp_path / str(task)).read_text().split(" ") for task in range(6)]
    pids = {pid for pid, _, _ in notes}
    assert len(pids) == 2 and str(os.getpid()) not in pids
    assert {threads for _, threads, _ in notes} == {"1"}
    assert not multiprocessing.active_children()


@pytest.mark.skipif(START_METHOD != "fork", reason="only forked processes inherit objects")
def test_workers_inherit_loaded_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "LOADED", ["the table"])
    with worker_processes(1) as pool:
        pool.submit(note, tmp_path, 0).result()
    assert (tmp_path / "0").read_text().endswith("the table")


@pytest.mark.parametrize(
    ("name", "error"),
    [("SIGKILL", BrokenProcessPool), ("SIGSEGV", WorkerCrash), ("SIGABRT", WorkerCrash)],
)
def test_a_killed_worker_is_an_error(name: str, error: type[Exception]) -> None:
    """Only a crash of compiled code is called a crash."""
    with pytest.raises(error) as raised, worker_processes(2) as pool:
        wait_for_all([pool.submit(die, signal.Signals[name]) for _ in range(4)])
    text, code = describe_failure(raised.value) or ("", 0)
    assert code == 1 and (name in text) == (error is WorkerCrash) != ("memory" in text)
    assert not multiprocessing.active_children()


def test_an_interrupted_block_ends_all_workers() -> None:
    with pytest.raises(KeyboardInterrupt), worker_processes(2) as pool:
        pool.submit(time.sleep, 60)
        raise KeyboardInterrupt
    assert not multiprocessing.active_children()


def test_an_error_ends_only_its_own_workers() -> None:
    with worker_processes(1) as other:
        with pytest.raises(ValueError, match="task"), worker_processes(1) as pool:
            pool.submit(fail, 0).result()
        assert other.submit(os.getpid).result() != os.getpid()
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("allotted", "expected"),
    [("1", 1), *((text, None) for text in ("10000", "", "0", "-1", "2GB"))],
)
def test_a_batch_system_sets_the_number_of_cores(
    monkeypatch: pytest.MonkeyPatch, allotted: str, expected: int | None
) -> None:
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", allotted)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "abc")
    assert available_cores() == (expected or cpu_count())


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity masks here")
def test_a_process_bound_to_one_core_has_one() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert available_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
