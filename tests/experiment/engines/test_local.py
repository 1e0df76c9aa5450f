"""Tasks, and the engine that runs them in local processes."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.tiny_runs import SCORES, Planner, finished

from bnnbench.experiment.engines.local import LocalEngine
from bnnbench.experiment.kinds.base import Task
from bnnbench.experiment.run.execution import execute, shared_engine
from bnnbench.experiment.run.run import Run, run_status
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.lock import lock_group
from bnnbench.experiment.store.record import read_record


def tasks(run: Run) -> list[Task]:
    run.folder.create()
    return run.tasks(run.experiment.units())


def test_the_key_of_a_task_names_its_run_and_units(tiny: Planner) -> None:
    runs = [tiny("splits=2"), tiny("splits=2", "seed=1")]
    keys = [task.key for run in runs for task in tasks(run)]
    assert len(set(keys)) == 4 and keys[:2] == [task.key for task in tasks(tiny("splits=2"))]


def test_a_finished_task_ignores_locks(tiny: Planner) -> None:
    run = tiny("splits=1")
    finished(run)
    (task,) = tasks(run)
    before = run.store.file("split-00", "json").stat().st_mtime_ns
    with lock_group(run.store, "split-00"):
        task.run()
    assert task.finished() and run.store.file("split-00", "json").stat().st_mtime_ns == before


@pytest.mark.parametrize("outputs", ["out", "."])
def test_folders_of_tasks_are_absolute(
    tiny: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (task, *_) = tasks(replace(tiny(), outputs=Path(outputs)))
    assert task.store.folder.root.is_relative_to(tmp_path)


def test_an_error_ends_all_workers(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_or_wait(task: Task, cores: int = 1) -> None:
        if task.units[0] == "split-00":
            raise ValueError("a mistake of ours")
        time.sleep(60)

    monkeypatch.setattr(Task, "run", fail_or_wait)
    began = time.monotonic()
    with pytest.raises(ValueError, match="a mistake of ours"):
        execute(replace(tiny("splits=2"), workers=2))
    assert not multiprocessing.active_children() and time.monotonic() - began < 30


def test_this_process_calls_a_function_while_waiting(tiny: Planner) -> None:
    given, done = tasks(tiny("splits=2")), list[int]()
    engine = LocalEngine(2)
    engine.start(given)
    engine.finish(given, lambda: done.append(os.getpid()))
    engine.close()
    assert done == [os.getpid()]


def test_an_engine_that_is_stopped_may_be_started_again(tiny: Planner) -> None:
    engine, run = LocalEngine(2), tiny("splits=2")
    given: Sequence[Task] = tasks(run)
    for _ in range(2):
        engine.start(given)
        assert len(multiprocessing.active_children()) == 2
        engine.finish(given, lambda: None)
        engine.close()
        assert all(task.finished() for task in given) and not multiprocessing.active_children()


def a_sweep(tiny: Planner) -> list[Run]:
    return [replace(tiny("splits=2", f"seed={seed}"), workers=2) for seed in range(3)]


@pytest.mark.slow
def test_all_runs_of_a_sweep_share_processes(tiny: Planner) -> None:
    runs = a_sweep(tiny)
    with shared_engine(runs) as engine:
        children = {child.pid for child in multiprocessing.active_children()}
        for run in runs:
            execute(run, engine=engine)
            assert {child.pid for child in multiprocessing.active_children()} == children
    assert len(children) == 2 and not multiprocessing.active_children()
    assert all(run.complete() for run in runs)


@pytest.mark.slow
def test_later_runs_start_early_and_record_their_code_version(tiny: Planner) -> None:
    first, later = a_sweep(tiny)[:2]
    with shared_engine([first, later]) as engine:
        execute(first, engine=engine)
        until = time.monotonic() + 30
        while later.unfinished_units() and time.monotonic() < until:
            time.sleep(0.02)
        assert not later.unfinished_units() and not later.complete()
        assert read_record(later.folder).code_versions == list(later.record.code_versions)
        execute(later, engine=engine)
    alone = replace(later, outputs=later.outputs / "alone")
    assert finished(later)[1][SCORES].equals(finished(alone)[1][SCORES])


@pytest.mark.slow
def test_a_damaged_unit_is_run_again_in_a_sweep(tiny: Planner) -> None:
    runs = a_sweep(tiny)[:2]
    before = finished(runs[1])[1]
    runs[1].store.file("split-00", "npz").write_bytes(b"damaged")
    with shared_engine(runs) as engine:
        for run in runs:
            execute(run, engine=engine)
    assert run_status(runs[1]).units == ()
    assert finished(runs[1])[1][SCORES].equals(before[SCORES])


def test_an_engine_repeats_discarded_units(tiny: Planner) -> None:
    run, engine = tiny("splits=2"), LocalEngine(2)
    given = tasks(run)
    engine.start(given)
    for _ in range(2):
        engine.finish(given, lambda: None)
        assert not run.unfinished_units()
        run.store.discard(["split-01"])
    engine.close()


def test_single_runs_and_lockstep_runs_share_no_engine(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shared_engine(a_sweep(tiny)[:1]) as engine:
        assert engine is None
    monkeypatch.setattr(SplitExperiment, "lockstep", True)
    with shared_engine(a_sweep(tiny)) as engine:
        assert engine is None
