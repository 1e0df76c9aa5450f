"""Runs what is not finished yet of an experiment, and finishes its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial

import torch

from bnnbench.cpp.library import prepare
from bnnbench.experiment.base import Member
from bnnbench.experiment.environment import as_yaml, write_environment
from bnnbench.experiment.lease import beating
from bnnbench.experiment.progress import watch
from bnnbench.experiment.record import write_record
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_folder import Done, RunFolder
from bnnbench.experiment.run_lock import assembling, claimed, working
from bnnbench.experiment.stacking import stack_of
from bnnbench.experiment.standing import check_joinable, recorded, standing
from bnnbench.experiment.sweep_progress import SweepProgress
from bnnbench.experiment.workers import run_all, worker_processes
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
) -> RunFolder:
    """Finishes what was asked for and is not there yet; a complete run is left alone.

    Args:
        run: the run.
        report: adds what readers look at, before the run counts as complete.
        sweep: that the run is a part of: some of its runs may train in one stack with this one.
        say: is told, before anything is run, how the run stands, and once if it will take long.
        meanwhile: what this process does while others run the units.

    Raises:
        UserError: if the folder is not writable or another process works on the same units.
    """
    folder, now = run.folder, standing(run)
    for sentence in now.sentences:
        say(sentence)
    if now.intact:
        return folder
    folder.create()
    check_joinable(run)
    prepare(say)
    again = now.units if run.resume else run.experiment.units()
    todo = list(dict.fromkeys([*run.open_units(), *again]))
    groups = groups_of(run, todo)
    with ExitStack() as processes:
        # Before locks are taken and threads begin: a fork would copy both.
        pool = processes.enter_context(_processes(run, len(groups)))
        with claimed(run.store, todo):
            run.store.discard(again)
            write_text(folder.config, as_yaml(run.config))
            write_record(folder, recorded(run))
            if todo or not folder.environment.exists():
                write_environment(folder, run.workers)
            if todo:
                stack = stack_of(run, sweep.runs if sweep else ())
                with watch(run, sweep), free_of_others(run, stack) as free, beating():
                    members = [one.member for one in free]
                    run_groups(members, groups, run.workers, pool, meanwhile)
            processes.close()  # with its threads, beside which figures are not drawn side by side
            finish(run, report)
    return folder


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
def _processes(run: Run, groups: int) -> Iterator[Executor | None]:
    """Workers for so many groups; None where they are run in this process."""
    count = min(run.workers, groups)
    if count < 2 or run.experiment.lockstep:
        yield None
        return
    run.experiment.prepare()
    with worker_processes(count) as pool:
        yield pool


@contextmanager
def free_of_others(run: Run, stack: Sequence[Run]) -> Iterator[list[Run]]:
    """The runs of a stack that no other process works on, kept from others meanwhile.

    Args:
        run: one of them, whose units are claimed already.
        stack: of `stack_of`.
    """
    with ExitStack() as locks:
        free = {run.folder}
        for other in (one for one in stack if one.folder != run.folder):
            other.folder.create()
            with suppress(UserError):
                locks.enter_context(claimed(other.store, other.open_units()))
                free.add(other.folder)
        yield [one for one in stack if one.folder in free]


def run_groups(
    members: Sequence[Member],
    groups: Sequence[Sequence[str]],
    workers: int,
    pool: Executor | None,
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    """Runs groups of units.

    Args:
        members: the runs that train together.
        groups: of units of each of them.
        workers: cores that a lockstep experiment may use.
        pool: where they are run; in this process if there is none.
        meanwhile: what this process does while those of a pool run them.
    """
    if pool is None:
        for group in groups:
            run_group(members, workers, group)
    else:
        run_all(pool, partial(run_group, members, 1), groups, meanwhile)


def run_group(members: Sequence[Member], workers: int, group: Sequence[str]) -> None:
    """Runs one group of units in this process.

    Args:
        members: the runs that train together.
        workers: cores that a lockstep experiment may use.
        group: the units.
    """
    if is_finished(members, group):
        return
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # momenta of dead units decay into denormals, which are slow
    with working([member.store for member in members], group[0]), beating():
        # Perhaps another process did it while this one waited.
        if not is_finished(members, group):
            type(members[0].experiment).run_group(members, group, workers)


def is_finished(members: Sequence[Member], group: Sequence[str]) -> bool:
    """Whether every unit of a group was saved by every run that trains with it."""
    return all(member.store.finished(unit) for member in members for unit in group)


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
        folder.mark(Done(finished, tuple(assembled.units), files, folder.sums(page)))
