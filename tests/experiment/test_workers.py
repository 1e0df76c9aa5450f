"""Worker processes: what they begin with, and that none outlives its work."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
import torch
from joblib import cpu_count

from bnnbench.experiment.workers import START, all_done, cores, worker_processes

LOADED: list[str] = []
"""Filled by a test before its workers begin."""


def note(folder: Path, task: int) -> None:
    """Leaves a file that says which process did the task, and with what."""
    threads = torch.get_num_threads()
    (folder / str(task)).write_text(f"{os.getpid()} {threads} {','.join(LOADED)}")
    time.sleep(0.05)


def fail(task: int) -> None:
    raise ValueError(f"task {task}")


def die(task: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_tasks_run_in_other_processes_of_one_thread_each(tmp_path: Path) -> None:
    with worker_processes(2) as pool:
        all_done([pool.submit(note, tmp_path, task) for task in range(6)])
    said = [(tmp_path / str(task)).read_text().split(" ") for task in range(6)]
    assert len({pid for pid, _, _ in said}) == 2 and str(os.getpid()) not in dict.fromkeys(
        pid for pid, _, _ in said
    )
    assert {threads for _, threads, _ in said} == {"1"}
    assert not multiprocessing.active_children()


@pytest.mark.skipif(START != "fork", reason="only forked processes begin with what is loaded")
def test_they_begin_with_what_this_one_has_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "LOADED", ["the table"])
    with worker_processes(1) as pool:
        pool.submit(note, tmp_path, 0).result()
    assert (tmp_path / "0").read_text().endswith("the table")


def test_the_first_error_comes_back_and_ends_them() -> None:
    with pytest.raises(ValueError, match="task"), worker_processes(2) as pool:
        all_done([pool.submit(fail, task) for task in range(4)])
    assert not multiprocessing.active_children()


def test_a_killed_worker_is_an_error_and_no_wait() -> None:
    with pytest.raises(BrokenProcessPool), worker_processes(2) as pool:
        all_done([pool.submit(die, task) for task in range(4)])
    assert not multiprocessing.active_children()


def test_an_interrupted_block_leaves_none_behind(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), worker_processes(2) as pool:
        pool.submit(time.sleep, 60)
        raise KeyboardInterrupt
    assert not multiprocessing.active_children()


def test_an_error_ends_its_own_processes_and_no_others() -> None:
    with worker_processes(1) as other:
        with pytest.raises(ValueError, match="task"), worker_processes(1) as pool:
            pool.submit(fail, 0).result()
        assert other.submit(os.getpid).result() != os.getpid()
    assert not multiprocessing.active_children()


def test_no_thread_of_ours_is_left() -> None:
    before = threading.active_count()
    with worker_processes(2):
        pass
    assert threading.active_count() <= before


@pytest.mark.parametrize(("allotted", "expected"), [("1", 1), ("10000", None), ("", None)])
def test_a_batch_system_says_how_many_cores_there_are(
    monkeypatch: pytest.MonkeyPatch, allotted: str, expected: int | None
) -> None:
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", allotted)
    assert cores() == (expected or cpu_count())


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity masks here")
def test_a_process_bound_to_one_core_has_one() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, before)
