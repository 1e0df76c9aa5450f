"""Runs what is not finished yet of an experiment, and finishes its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bnnbench.cpp.library import prepare
from bnnbench.experiment.base import Member
from bnnbench.experiment.engines.base import Engine
from bnnbench.experiment.engines.work import Work
from bnnbench.experiment.environment import as_yaml, write_environment
from bnnbench.experiment.lease import beating
from bnnbench.experiment.progress import watch
from bnnbench.experiment.record import write_record
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_folder import FIGURES, Done, RunFolder
from bnnbench.experiment.run_lock import assembling, claimed
from bnnbench.experiment.stacking import stack_of
from bnnbench.experiment.standing import check_joinable, recorded, standing
from bnnbench.experiment.sweep_progress import SweepProgress
from bnnbench.files import remove, write_text
from bnnbench.types import UserError

Report = Callable[[RunFolder], Sequence[str] | None]
"""Adds what readers look at (summary, figures) to a run whose tables are all there; names the files
among them that a report over many runs reads back."""


def execute(
    run: Run,
    report: Report,
    sweep: SweepProgress | None = None,
    say: Callable[[str], object] = lambda sentence: None,
    meanwhile: Callable[[], object] = lambda: None,
    engine: Engine | None = None,
) -> RunFolder:
    """Finishes what was asked for and is not there yet; a complete run is left alone.

    Args:
        run: the run.
        report: adds what readers look at, before the run counts as complete.
        sweep: that the run is a part of: some of its runs may train in one stack with this one.
        say: is told, before anything is run, how the run stands, and once if it will take long.
        meanwhile: what this process does while others run the units.
        engine: that other runs of the command share; one of the run's own if not given.

    Raises:
        UserError: if the folder is not writable or another process works on the same units.
    """
    folder, now = run.folder, standing(run)
    for sentence in now.sentences:
        say(sentence)
    if now.intact:
        return folder
    folder.create()
    if now.drawable:
        draw(run, now.drawable, report)
        return folder
    check_joinable(run)
    prepare(say)
    again = now.units if run.resume else run.experiment.units()
    todo = list(dict.fromkeys([*run.open_units(), *again]))
    works = works_of(run, todo, sweep)
    with ExitStack() as processes:
        # Before locks are taken and threads begin: a fork would copy both.
        own = processes.enter_context(_opened(run, works, engine))
        with claimed(run.store, todo):
            run.store.discard(again)
            write_text(folder.config, as_yaml(run.config))
            write_record(folder, recorded(run))
            if todo or not folder.environment.exists():
                write_environment(folder, run.workers)
            if works:
                with watch(run, sweep), free_of_others(run, works[0].row) as free, beating():
                    own.finish([work.of(free) for work in works], meanwhile)
            processes.close()  # with its threads, beside which figures are not drawn side by side
            finish(run, report)
    return folder


def works_of(run: Run, units: Sequence[str], sweep: SweepProgress | None) -> list[Work]:
    """What is to be computed for these units of a run, with the runs that train in its stack."""
    if not units:
        return []
    row = tuple(one.member for one in stack_of(run, sweep.runs if sweep else ()))
    return [Work.on(row, group) for group in groups_of(run, units)]


@contextmanager
def shared_engine(
    runs: Sequence[Run],
    sweep: SweepProgress | None,
    say: Callable[[str], object] = lambda sentence: None,
) -> Iterator[Engine | None]:
    """The engine of all runs of a command, with their open units handed out.

    So no process and no other machine has an idle tail at the end of each run.

    Args:
        runs: what will be executed.
        sweep: that they are a part of.
        say: is told once if something will take long.

    Yields:
        The engine, or None where each run has its own, as a single run on this machine has.
    """
    remote = any(run.engine.remote for run in runs)
    # In lockstep a run uses all of this machine by itself, when its turn comes.
    ahead = [run for run in runs if remote or not run.experiment.lockstep]
    if len(ahead) < 2 and not remote:
        yield None
        return
    # First, since an address at which nobody answers is to leave nothing behind.
    with _own_engine(runs[0]) as engine:
        works = {work.key: work for run in ahead for work in _begun(run, sweep)}
        if works and not remote:
            prepare(say)
        engine.start(list(works.values()))
        yield engine


def _begun(run: Run, sweep: SweepProgress | None) -> list[Work]:
    """The open work of a run that may begin before its turn, with the code that does it on record.

    Nothing where there is something to discard or to refuse first, or nothing is open.
    """
    works = works_of(run, run.open_units(), sweep) if run.resume else []
    with suppress(UserError):
        check_joinable(run)
        if works:
            run.folder.create()
            write_record(run.folder, recorded(run))
        return works
    return []


@contextmanager
def _opened(run: Run, works: Sequence[Work], given: Engine | None) -> Iterator[Engine]:
    """The engine that is given, if it holds this work, or one with it, until the block ends."""
    if given is not None and given.holds(works):
        given.start(works)
        yield given
        return
    with _own_engine(run) as engine:
        engine.start(works)
        yield engine


@contextmanager
def _own_engine(run: Run) -> Iterator[Engine]:
    """The engine that the settings of a run ask for, stopped however the block ends."""
    engine = run.engine.engine(run.workers, run.outputs)
    try:
        yield engine
    finally:
        engine.stop()


def groups_of(run: Run, units: Sequence[str]) -> list[tuple[str, ...]]:
    """The groups that hold one of these units.

    A group is run whole, so that its stack is the one of an uninterrupted run.
    """
    done = run.folder.finished()
    # What is in the tables already is no part of a stack; as long as these are, groups stay.
    names = run.experiment.units()
    fresh = [u for u in names if u in units or not done or u not in done.units]
    return [group for group in run.experiment.groups(fresh) if set(group) & set(units)]


@contextmanager
def free_of_others(run: Run, row: Sequence[Member]) -> Iterator[list[Path]]:
    """The folders of a stack's runs that no other process works on, kept from others meanwhile.

    Args:
        run: one of them, whose units are claimed already.
        row: the runs of the stack.
    """
    own = run.member.store.folder.root
    with ExitStack() as locks:
        free = [own]
        for experiment, store in row:
            if store.folder.root == own:
                continue
            store.folder.create()
            open_units = [unit for unit in experiment.units() if not store.finished(unit)]
            with suppress(UserError):
                locks.enter_context(claimed(store, open_units))
                free.append(store.folder.root)
        yield free


def draw(run: Run, done: Done, report: Report) -> None:
    """Adds to a complete run what its readers lack; its tables stay as they are."""
    with assembling(run.folder):
        page = run.folder.sums(report(run.folder) or ())
        run.folder.mark(replace(done, page=page, figures=drawn(run)))


def drawn(run: Run) -> tuple[str, ...]:
    """The names of the figures of a run that are there as it was asked for them."""
    return run.folder.drawn(FIGURES[run.figures])


def finish(run: Run, report: Report) -> None:
    """Writes the tables of all finished units, whoever asked for them, and what shows them."""
    folder = run.folder
    with assembling(folder):
        # Until the new tables agree with each other the run is not complete.
        remove(folder.done)
        assembled = run.store.assemble()
        page = report(folder) or ()
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        files = {**assembled.files, **folder.sums([folder.record.name])}
        units = tuple(assembled.units)
        folder.mark(Done(finished, units, files, folder.sums(page), drawn(run)))
