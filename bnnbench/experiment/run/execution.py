"""Execute the unfinished units of a run and write its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime

from bnnbench.experiment.engines.base import Engine
from bnnbench.experiment.kinds.base import Task, is_lockstep
from bnnbench.experiment.run.progress import SweepProgress, watch
from bnnbench.experiment.run.run import (
    Run,
    RunStatus,
    Work,
    check_can_add_units,
    plan_work,
    run_status,
)
from bnnbench.experiment.store.lock import lock_tables, lock_units
from bnnbench.experiment.store.provenance import as_yaml, write_environment
from bnnbench.experiment.store.record import updated_record, write_record
from bnnbench.experiment.store.run_folder import Done, RunFolder
from bnnbench.files import remove, write_text
from bnnbench.portable_math import numpy_defaults
from bnnbench.types import UserError

Derive = Callable[[RunFolder], Iterable[str]]
"""Writes further tables from those of all units, and returns the names of their files."""


@numpy_defaults()
def execute(
    run: Run,
    derive: Derive = lambda folder: (),
    sweep: SweepProgress | None = None,
    say: Callable[[str], object] = lambda sentence: None,
    while_waiting: Callable[[], object] = lambda: None,
    engine: Engine | None = None,
) -> RunFolder:
    """Run the requested units that are not finished yet; a complete run is left alone.

    Args:
        run: the run.
        derive: writes further tables, before the run counts as finished.
        sweep: the sweep of this run, for its progress.
        say: called with messages about the status of the run.
        while_waiting: called in this process while others compute.
        engine: the engine shared by all runs of the command; by default the run starts its own.

    Raises:
        UserError: if the folder is not writable or another process works on the same units.
    """
    status = inspect_run(run, say)
    if status.intact:
        return run.folder
    run.folder.create()
    work = plan_work(run, status)
    # The engine first: it forks, which would copy locks and threads.
    with started_engine(run, work.tasks, engine) as started, lock_units(run.store, work.units):
        prepare_folder(run, work)
        if work.tasks:
            with watch(run, sweep):
                started.finish(work.tasks, while_waiting)
        write_results(run, derive)
    return run.folder


def inspect_run(run: Run, say: Callable[[str], object]) -> RunStatus:
    """Compare the files of a run with their checksums and report what was found."""
    status = run_status(run)
    for message in status.messages:
        say(message)
    return status


def prepare_folder(run: Run, work: Work) -> None:
    """Discard damaged units, and write the settings, code and machine of those to compute."""
    folder = run.folder
    run.store.discard(work.discarded)
    write_record(folder, updated_record(run.record, run.store, work.units))
    write_text(folder.config, as_yaml(run.config))
    if work.units or not folder.environment.exists():
        write_environment(folder, run.workers)


def write_results(run: Run, derive: Derive) -> None:
    """Write the tables of all finished units, of earlier commands too, and `DONE`.

    Figures of earlier tables are removed.
    """
    folder = run.folder
    with lock_tables(folder):
        # The run is incomplete until all new tables are written.
        remove(folder.done)
        assembled = run.store.assemble()
        write_record(folder, updated_record(run.record, run.store))
        folder.remove_figures()
        files = {**assembled.files, **folder.checksums([folder.record.name, *derive(folder)])}
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        folder.write_done(Done(finished, tuple(assembled.units), files))


@contextmanager
def shared_engine(runs: Sequence[Run]) -> Iterator[Engine | None]:
    """Start one engine for all runs of a command and hand out their unfinished units.

    Workers then go on with the next run instead of idling at the end of each one.

    Args:
        runs: the runs to execute.

    Yields:
        The engine, or None if each run starts its own, as a single run on this machine does.
    """
    remote = any(run.engine.remote for run in runs)
    # A lockstep run uses the whole machine, so it waits for its turn.
    early = [run for run in runs if remote or not is_lockstep(run.experiment)]
    if len(early) < 2 and not remote:
        yield None
        return
    first = runs[0]
    # Before anything is written, so that a wrong address leaves no files behind.
    with closing(first.engine.create_engine(first.workers, first.outputs)) as engine:
        tasks = {task.key: task for run in early for task in _early_tasks(run)}
        engine.start(list(tasks.values()))
        yield engine


def _early_tasks(run: Run) -> list[Task]:
    """Return the tasks of a run that may start before its turn, and write its record.

    There are none if units must be discarded first or the run will be refused.
    """
    tasks = run.tasks(run.unfinished_units()) if run.resume else []
    with suppress(UserError):
        check_can_add_units(run)
        if tasks:
            run.folder.create()
            units = [unit for task in tasks for unit in task.units]
            write_record(run.folder, updated_record(run.record, run.store, units))
        return tasks
    return []


@contextmanager
def started_engine(run: Run, tasks: Sequence[Task], shared: Engine | None) -> Iterator[Engine]:
    """Start the given engine if it can run these tasks, else one for this run alone."""
    if shared is not None and shared.can_run(tasks):
        shared.start(tasks)
        yield shared
        return
    with closing(run.engine.create_engine(run.workers, run.outputs)) as engine:
        engine.start(tasks)
        yield engine
