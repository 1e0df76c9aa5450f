"""Parallel execution in forks of this process, where that is safe."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from bnnbench.system import START_METHOD

T = TypeVar("T")
U = TypeVar("U")

FORK_SAFE_THREADS = {"jemalloc_bg_thd\n"}
"""Names of threads that survive a fork: an allocator that pandas loads with pyarrow."""


def run_in_forks(functions: Sequence[Callable[[], T]], processes: int) -> list[T]:
    """Call functions in several processes where that is safe, and return their results.

    Args:
        functions: assigned to processes in turn; the first one runs in this process, so that its
            result need not be picklable.
        processes: maximum number of processes, this one included.

    Raises:
        Exception: raised by one of the functions.
    """
    count = min(processes, len(functions)) if can_fork() else 1
    if count < 2:
        return [function() for function in functions]
    parts = _run_parts([functions[part::count] for part in range(count)])
    return [parts[index % count][index // count] for index in range(len(functions))]


def run_both(
    first_function: Callable[[], T], second_function: Callable[[], U], processes: int
) -> tuple[T, U]:
    """Call two functions in parallel, the first in this process, and return both results."""
    functions: list[Callable[[], Any]] = [first_function, second_function]
    first, second = run_in_forks(functions, processes)
    return first, second


def can_fork() -> bool:
    """Whether this process has no other threads: a fork copies their locks, but not the threads."""
    try:
        tasks = [*Path("/proc/self/task").iterdir()] if START_METHOD == "fork" else []
        others = {(task / "comm").read_text() for task in tasks if task.name != str(os.getpid())}
    except OSError:  # a thread has just ended
        return False
    return bool(tasks) and others <= FORK_SAFE_THREADS


def stop_joblib() -> None:
    """End the idle processes of joblib, if there are any: their threads would prevent a fork."""
    loky = sys.modules.get("joblib.externals.loky")
    if loky is not None and not can_fork():
        loky.get_reusable_executor().shutdown()


def _run_parts(parts: Sequence[Sequence[Callable[[], T]]]) -> list[list[T]]:
    """Run one part in this process, and each of the others in a forked child."""
    fork: Any = multiprocessing.get_context("fork")
    first_part, *others = parts
    children = []
    for part in others:
        ours, theirs = fork.Pipe(duplex=False)
        child = fork.Process(target=_run_child, args=(part, theirs), daemon=True)
        child.start()
        theirs.close()
        children.append((child, ours, part))
    try:
        done = [[function() for function in first_part]]
        return [*done, *(_receive(ours, part) for _, ours, part in children)]
    finally:
        for child, ours, _ in children:
            child.kill()  # no effect if it has ended
            child.join()
            ours.close()


def _run_child(functions: Sequence[Callable[[], T]], connection: Connection) -> None:
    """Run a part in a child and send its results, or its exception."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    results: list[T] | Exception
    try:
        results = [function() for function in functions]
    except Exception as error:
        results = error
    with suppress(Exception):  # the parent repeats a part whose results cannot be pickled
        connection.send(results)


def _receive(connection: Connection, functions: Sequence[Callable[[], T]]) -> list[T]:
    """Receive the results of a child; run its part here if it was killed."""
    try:
        results = connection.recv()
    except Exception:  # nothing was sent, or it cannot be unpickled
        return [function() for function in functions]
    if isinstance(results, Exception):
        raise results
    return list(results)
