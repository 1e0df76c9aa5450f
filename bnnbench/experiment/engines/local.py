"""The local engine: worker processes forked from this one."""

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
from bnnbench.experiment.engines.task import Task
from bnnbench.experiment.workers import kill_workers, wait_for_all, worker_processes


@dataclass(frozen=True, kw_only=True)
class Local(EngineSettings):
    """Processes on this machine, one per core."""

    name: str = "local"

    def create_engine(self, workers: int, outputs: Path) -> Engine:
        """Create the engine for one run, or for all runs of a sweep."""
        return LocalEngine(workers)


class LocalEngine(Engine):
    """Runs tasks in worker processes, or in this process if one is enough."""

    def __init__(self, count: int) -> None:
        """Start no process yet.

        Args:
            count: number of processes, or of cores that a lockstep experiment may use.
        """
        self._count, self._tasks = count, dict[str, Task]()
        self._pool: Executor | None = None
        self._futures: dict[str, Future[None]] = {}
        self._processes, self._others = ExitStack(), list[BaseProcess]()

    def start(self, tasks: Sequence[Task]) -> None:
        """Fork the processes, which inherit the tasks, so that only keys are sent to them.

        Only the first call has an effect.
        """
        if self._tasks:
            return
        self._tasks = {task.key: task for task in tasks}
        count = min(self._count, len(tasks))
        if count < 2 or any(_first(task).lockstep for task in tasks):
            return
        for experiment in {id(first): first for first in map(_first, tasks)}.values():
            experiment.prepare()
        self._others = multiprocessing.active_children()
        self._pool = self._processes.enter_context(worker_processes(count, self._tasks))

    def can_run(self, tasks: Sequence[Task]) -> bool:
        return all(task.key in self._tasks for task in tasks)

    def finish(self, tasks: Sequence[Task], while_waiting: Callable[[], object]) -> None:
        """Run the tasks first, and those of later runs as soon as a process is free."""
        if self._pool is None:
            for task in tasks:
                task.run(self._count)
            return
        for task in tasks:
            begun = self._futures.get(task.key)
            if begun is None or (begun.done() and not task.finished()):  # discarded since
                self._hand_out(self._pool, task)
        for task in self._tasks.values():
            if task.key not in self._futures:
                self._hand_out(self._pool, task)
        while_waiting()
        wait_for_all(self._futures[task.key] for task in tasks)

    def _hand_out(self, pool: Executor, task: Task) -> None:
        reference = TaskReference(task.key, _folders(task))
        self._futures[task.key] = pool.submit(reference.run)

    def stop(self) -> None:
        """End the processes; kill them if they are busy."""
        if not all(future.done() for future in self._futures.values()):
            kill_workers(self._others)
        self._processes.close()
        self._pool, self._futures, self._tasks = None, {}, {}


@dataclass(frozen=True)
class TaskReference:
    """A task that the worker process has inherited.

    Attributes:
        key: of the task.
        folders: of the runs to compute.
    """

    key: str
    folders: tuple[Path, ...]

    def run(self) -> None:
        """Run the task in a worker process."""
        workers.SHARED[self.key].restricted_to(self.folders).run()


def _folders(task: Task) -> tuple[Path, ...]:
    return tuple(member.store.folder.root for member in task.runs)


def _first(task: Task) -> Experiment:
    return task.runs[0].experiment
