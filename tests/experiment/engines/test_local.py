"""Work, and the engine that does it in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.tiny_runs import SCORES, finished, no_page

from bnnbench.experiment.engines.local import LocalEngine, Named
from bnnbench.experiment.engines.work import Work
from bnnbench.experiment.execution import execute, shared_engine, works_of
from bnnbench.experiment.lease import held
from bnnbench.experiment.record import read_record
from bnnbench.experiment.run import Run
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.experiment.sweep_progress import SweepProgress

Planner = Callable[..., Run]


def works(run: Run) -> list[Work]:
    run.folder.create()
    return works_of(run, run.experiment.units(), None)


def test_work_is_told_apart_whoever_takes_part(tiny: Planner) -> None:
    one, other = tiny("splits=2"), tiny("splits=2", "seed=1")
    row = [one.member, other.member]
    work, later = (Work.on(row, [unit]) for unit in one.experiment.units())
    alone = work.of([other.member.store.folder.root])
    assert work.key == alone.key != later.key
    assert [member.experiment for member in alone.row] == [other.experiment]


def test_finished_work_is_done_at_once_whoever_holds_its_lock(tiny: Planner) -> None:
    run = tiny("splits=1")
    finished(run)
    (work,) = works(run)
    before = run.store.file("split-00", "json").stat().st_mtime_ns
    with held(run.store.file("split-00", "working.lock")):
        work.run()
    assert work.finished() and run.store.file("split-00", "json").stat().st_mtime_ns == before


def test_workers_are_told_names_and_hold_the_table_already(tiny: Planner) -> None:
    run = tiny("splits=2")
    work = works(run)[0]
    task = Named(work.key, tuple(member.store.folder.root for member in work.row))
    assert len(pickle.dumps(task)) < 1000 < len(pickle.dumps(work))


@pytest.mark.parametrize("outputs", ["out", "."])
def test_a_folder_is_found_from_anywhere(
    tiny: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (work, *_) = works(replace(tiny(), outputs=Path(outputs)))
    assert work.row[0].store.folder.root.is_relative_to(tmp_path)


def test_what_was_begun_ends_with_an_error(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_or_wait(work: Work, cores: int = 1) -> None:
        if work.group[0] == "split-00":
            raise ValueError("a mistake of ours")
        time.sleep(60)

    monkeypatch.setattr(Work, "run", fail_or_wait)
    began = time.monotonic()
    with pytest.raises(ValueError, match="a mistake of ours"):
        execute(replace(tiny("splits=2"), workers=2), no_page)
    assert not multiprocessing.active_children() and time.monotonic() - began < 30


def test_this_process_does_something_meanwhile(tiny: Planner) -> None:
    given, done = works(tiny("splits=2")), list[int]()
    engine = LocalEngine(2)
    engine.start(given)
    engine.finish(given, lambda: done.append(os.getpid()))
    engine.stop()
    assert done == [os.getpid()]


def test_an_engine_that_is_stopped_may_be_started_again(tiny: Planner) -> None:
    engine, run = LocalEngine(2), tiny("splits=2")
    given: Sequence[Work] = works(run)
    for _ in range(2):
        engine.start(given)
        assert len(multiprocessing.active_children()) == 2
        engine.finish(given, lambda: None)
        engine.stop()
        assert all(work.finished() for work in given) and not multiprocessing.active_children()


def a_sweep(tiny: Planner) -> list[Run]:
    return [replace(tiny("splits=2", f"seed={seed}"), workers=2) for seed in range(3)]


def test_processes_of_a_sweep_are_there_for_all_of_its_runs(tiny: Planner) -> None:
    runs = a_sweep(tiny)
    with shared_engine(runs, SweepProgress(runs)) as engine:
        children = {child.pid for child in multiprocessing.active_children()}
        for run in runs:
            execute(run, no_page, engine=engine)
            assert {child.pid for child in multiprocessing.active_children()} == children
    assert len(children) == 2 and not multiprocessing.active_children()
    assert all(run.complete() for run in runs)


def test_later_runs_begin_before_their_turn_with_their_code_on_record(tiny: Planner) -> None:
    first, later = a_sweep(tiny)[:2]
    with shared_engine([first, later], None) as engine:
        execute(first, no_page, engine=engine)
        until = time.monotonic() + 30
        while later.open_units() and time.monotonic() < until:
            time.sleep(0.02)
        assert not later.open_units() and not later.complete()
        assert read_record(later.folder).codes == list(later.record.codes)
        execute(later, no_page, engine=engine)
    alone = replace(later, outputs=later.outputs / "alone")
    assert finished(later)[1][SCORES].equals(finished(alone)[1][SCORES])


def test_what_is_damaged_is_done_again_in_a_sweep(tiny: Planner) -> None:
    runs = a_sweep(tiny)[:2]
    before = finished(runs[1])[1]
    runs[1].store.file("split-00", "npz").write_bytes(b"damaged")
    with shared_engine(runs, None) as engine:
        for run in runs:
            execute(run, no_page, engine=engine)
    assert not runs[1].damaged_units()
    assert finished(runs[1])[1][SCORES].equals(before[SCORES])


def test_an_engine_does_again_what_was_discarded_since(tiny: Planner) -> None:
    run, engine = tiny("splits=2"), LocalEngine(2)
    given = works(run)
    engine.start(given)
    for _ in range(2):
        engine.finish(given, lambda: None)
        assert not run.open_units()
        run.store.discard(["split-01"])
    engine.stop()


def test_a_single_run_and_runs_in_lockstep_have_engines_of_their_own(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shared_engine(a_sweep(tiny)[:1], None) as engine:
        assert engine is None
    monkeypatch.setattr(SplitExperiment, "lockstep", True)
    with shared_engine(a_sweep(tiny), None) as engine:
        assert engine is None
