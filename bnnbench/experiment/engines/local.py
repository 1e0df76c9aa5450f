"""This machine: worker processes that are forked with all that this one has loaded."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from bnnbench.experiment import workers
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.engines.base import Engine, EngineSettings
from bnnbench.experiment.engines.work import Work
from bnnbench.experiment.workers import all_done, kill_workers, worker_processes


@dataclass(frozen=True, kw_only=True)
class Local(EngineSettings):
    """Processes of this machine, as many as there are cores."""

    name: str = "local"

    def engine(self, workers: int, outputs: Path) -> Engine:
        """Ready for one run, or for all of a sweep."""
        return LocalEngine(workers)


class LocalEngine(Engine):
    """Worker processes for what it is started with, or this process where they would be one."""

    def __init__(self, count: int) -> None:
        """Begins nothing yet.

        Args:
            count: of processes, or of the cores that a lockstep experiment may use.
        """
        self._count, self._works = count, dict[str, Work]()
        self._pool: Executor | None = None
        self._futures: dict[str, Future[None]] = {}
        self._processes, self._others = ExitStack(), list[BaseProcess]()

    def start(self, works: Sequence[Work]) -> None:
        """Begins the processes; they hold the work, so that only its key is told to them.

        Once for all: processes that are there cannot be given more to hold.
        """
        if self._works:
            return
        self._works = {work.key: work for work in works}
        count = min(self._count, len(works))
        if count < 2 or any(_first(work).lockstep for work in works):
            return
        for experiment in {id(first): first for first in map(_first, works)}.values():
            experiment.prepare()
        self._others = multiprocessing.active_children()
        self._pool = self._processes.enter_context(worker_processes(count, self._works))

    def holds(self, works: Sequence[Work]) -> bool:
        return all(work.key in self._works for work in works)

    def finish(self, works: Sequence[Work], meanwhile: Callable[[], object]) -> None:
        """Runs the work, and begins with that of later runs as soon as a process is free."""
        if self._pool is None:
            for work in works:
                work.run(self._count)
            return
        for work in works:
            begun = self._futures.get(work.key)
            if begun is None or (begun.done() and not work.finished()):  # discarded since
                self._hand_out(self._pool, work)
        for work in self._works.values():
            if work.key not in self._futures:
                self._hand_out(self._pool, work)
        meanwhile()
        all_done(self._futures[work.key] for work in works)

    def _hand_out(self, pool: Executor, work: Work) -> None:
        task = Named(work.key, _folders(work))
        self._futures[work.key] = pool.submit(task.run)

    def stop(self) -> None:
        """Ends the processes, at once if they are in the midst of something."""
        if not all(future.done() for future in self._futures.values()):
            kill_workers(self._others)
        self._processes.close()
        self._pool, self._futures, self._works = None, {}, {}


@dataclass(frozen=True)
class Named:
    """Work that a worker has got already.

    Attributes:
        key: of the work, among what the worker began with.
        folders: of the runs that take part.
    """

    key: str
    folders: tuple[Path, ...]

    def run(self) -> None:
        """Does it, in a worker."""
        workers.HELD[self.key].of(self.folders).run()


def _folders(work: Work) -> tuple[Path, ...]:
    return tuple(member.store.folder.root for member in work.row)


def _first(work: Work) -> Experiment:
    return work.row[0].experiment
