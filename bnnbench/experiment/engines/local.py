"""This machine: worker processes that are forked for each run, with all that it has loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bnnbench.experiment import workers
from bnnbench.experiment.engines.base import Engine, EngineSettings
from bnnbench.experiment.engines.work import Work
from bnnbench.experiment.workers import kill_workers, run_all, worker_processes


@dataclass(frozen=True, kw_only=True)
class Local(EngineSettings):
    """Processes of this machine, as many as there are cores."""

    name: str = "local"

    def engine(self, workers: int, outputs: Path) -> Engine:
        """Ready for one run."""
        return LocalEngine(workers)


class LocalEngine(Engine):
    """Worker processes for one run, or this process where they would be one."""

    def __init__(self, count: int) -> None:
        """Begins nothing yet.

        Args:
            count: of processes, or of the cores that a lockstep experiment may use.
        """
        self._count, self._works = count, tuple[Work, ...]()
        self._pool: Executor | None = None
        self._processes, self._busy = ExitStack(), False

    def start(self, works: Sequence[Work]) -> None:
        """Begins the processes; they hold the work, so that only its number is told to them."""
        self._works = tuple(works)
        count = min(self._count, len(works))
        if count < 2 or works[0].row[0].experiment.lockstep:
            return
        works[0].row[0].experiment.prepare()
        self._pool = self._processes.enter_context(worker_processes(count, self._works))

    def finish(self, works: Sequence[Work], meanwhile: Callable[[], object]) -> None:
        """Runs the work, of those runs that are in it still."""
        if self._pool is None:
            for work in works:
                work.run(self._count)
            return
        numbers = {work.key: number for number, work in enumerate(self._works)}
        tasks = [Numbered(numbers[work.key], _folders(work)) for work in works]
        self._busy = True
        run_all(self._pool, Numbered.run, tasks, meanwhile)
        self._busy = False

    def stop(self) -> None:
        """Ends the processes, at once if they are in the midst of something."""
        if self._busy:
            kill_workers()
        self._processes.close()
        self._pool = None


@dataclass(frozen=True)
class Numbered:
    """Work that a worker has got already.

    Attributes:
        number: in what the worker began with.
        folders: of the runs that take part.
    """

    number: int
    folders: tuple[Path, ...]

    def run(self) -> None:
        """Does it, in a worker."""
        workers.HELD[self.number].of(self.folders).run()


def _folders(work: Work) -> tuple[Path, ...]:
    return tuple(member.store.folder.root for member in work.row)
