"""Work, and the engine that does it in processes of this machine."""

from __future__ import annotations

import multiprocessing
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.tiny_runs import finished, no_page

from bnnbench.experiment.engines.local import LocalEngine, Numbered
from bnnbench.experiment.engines.work import Work
from bnnbench.experiment.execution import execute, works_of
from bnnbench.experiment.lease import held
from bnnbench.experiment.run import Run

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


def test_workers_are_told_numbers_and_hold_the_table_already(tiny: Planner) -> None:
    run = tiny("splits=2")
    work = works(run)[0]
    task = Numbered(0, tuple(member.store.folder.root for member in work.row))
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


def test_an_engine_that_is_stopped_may_be_started_again(tiny: Planner) -> None:
    engine, run = LocalEngine(2), tiny("splits=2")
    given: Sequence[Work] = works(run)
    for _ in range(2):
        engine.start(given)
        assert len(multiprocessing.active_children()) == 2
        engine.finish(given, lambda: None)
        engine.stop()
        assert all(work.finished() for work in given) and not multiprocessing.active_children()
