"""The local engine: worker processes, forked so that they inherit all that this one has loaded."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from bnnbench.experiment.engines.base import Engine, EngineSettings
from bnnbench.experiment.kinds.base import HasGroups, Task, is_lockstep
from bnnbench.system import START_METHOD

CRASHES = tuple(
    signal.Signals[name]
    for name in ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV")
    if hasattr(signal, name)
)
"""Signals that end a process because of a mistake in compiled code, not for lack of memory."""

_started: list[BaseProcess] = []
"""The worker processes of this one that have not ended, and those of a broken pool."""

SHARED: Mapping[str, Any] = {}
"""In a worker: the objects it was started with."""


class WorkerCrash(Exception):
    """Compiled code in a worker process crashed; the message is a clause."""


@contextmanager
def worker_processes(count: int, shared: Mapping[str, Any] | None = None) -> Iterator[Executor]:
    """Start processes of one thread each, which end with the block.

    They are forked before the block starts. Start threads, such as progress bars, only inside the
    block: a fork copies locks that another thread may hold.

    Args:
        count: number of processes.
        shared: objects that each worker has as `SHARED`; with a fork they cost nothing.
    """
    torch.set_num_threads(1)  # the children would inherit a thread pool without its threads
    context, others = multiprocessing.get_context(START_METHOD), multiprocessing.active_children()
    pool = ProcessPoolExecutor(
        count, context, initializer=_start_worker, initargs=(os.getpid(), shared or {})
    )
    try:
        pool.submit(os.getpid).result()
        started = [child for child in multiprocessing.active_children() if child not in others]
        _started[:] = [*filter(BaseProcess.is_alive, _started), *started]
        yield pool
    except BaseException:
        kill_workers(others)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def kill_workers(spared: Collection[BaseProcess] = ()) -> None:
    """Kill the processes that this one has started; this is safe because writes are atomic.

    Args:
        spared: processes to keep.
    """
    for child in multiprocessing.active_children():
        if child not in spared:
            child.kill()


def wait_for_all(futures: Iterable[Future[Any]]) -> None:
    """Wait until all futures are done; raise the first error.

    Raises:
        WorkerCrash: if compiled code in a worker process crashed.
    """
    for future in as_completed(futures):
        try:
            future.result()
        except BrokenProcessPool as broken:
            crash = _crash()
            if crash is None:
                raise
            raise WorkerCrash(f"compiled code crashed in a worker process ({crash})") from broken


def _crash() -> str | None:
    """Return the signal of the first worker that ended because its compiled code crashed."""
    for process in _started:
        process.join(0.1)  # it may have ended just now
        if -(process.exitcode or 0) in CRASHES:
            return signal.Signals(-(process.exitcode or 0)).name
    return None


def _start_worker(parent: int, shared: Mapping[str, Any]) -> None:
    global SHARED
    SHARED = shared
    _started.clear()  # not the children of this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    """End this process soon after its parent has died; this is safe because writes are atomic."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


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
        if count < 2 or any(is_lockstep(task.experiment) for task in tasks):
            return
        for experiment in {id(task.experiment): task.experiment for task in tasks}.values():
            if isinstance(experiment, HasGroups):
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
        self._futures[task.key] = pool.submit(_run_task, task.key)

    def close(self) -> None:
        """End the processes; kill them if they are busy."""
        if not all(future.done() for future in self._futures.values()):
            kill_workers(self._others)
        self._processes.close()
        self._pool, self._futures, self._tasks = None, {}, {}


def _run_task(key: str) -> None:
    """Run a task that the worker process has inherited."""
    SHARED[key].run()
