"""Work done side by side by forks of this process, where that is safe."""

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

T = TypeVar("T")
U = TypeVar("U")

MADE_FOR_FORKS = {"jemalloc_bg_thd\n"}
"""The thread of an allocator that pandas brings in where it finds pyarrow."""


def in_forks(works: Sequence[Callable[[], T]], processes: int) -> list[T]:
    """What each of these functions returns, computed in several processes where that is safe.

    Args:
        works: dealt out in turn, the first to this process, which so can keep what cannot be sent.
        processes: at most, this one included.

    Raises:
        Exception: what one of them raises, whichever process it is in.
    """
    count = min(processes, len(works)) if is_alone() else 1
    if count < 2:
        return [work() for work in works]
    parts = _done_in_parts([works[part::count] for part in range(count)])
    return [parts[place % count][place // count] for place in range(len(works))]


def both(mine: Callable[[], T], other: Callable[[], U], processes: int) -> tuple[T, U]:
    """What two functions return, side by side, the first in this process."""
    works: list[Callable[[], Any]] = [mine, other]
    first, second = in_forks(works, processes)
    return first, second


def is_alone() -> bool:
    """Whether this process may be forked: a fork copies locks of threads, and not the threads."""
    try:
        tasks = [*Path("/proc/self/task").iterdir()] if sys.platform == "linux" else []
        others = {(task / "comm").read_text() for task in tasks if task.name != str(os.getpid())}
    except OSError:  # a thread that has just ended
        return False
    return bool(tasks) and others <= MADE_FOR_FORKS


def _done_in_parts(parts: Sequence[Sequence[Callable[[], T]]]) -> list[list[T]]:
    """Does one part in this process, and each of the others in a child that is forked for it."""
    fork = multiprocessing.get_context("fork")
    mine, *others = parts
    children = []
    for part in others:
        ours, theirs = fork.Pipe(duplex=False)
        child = fork.Process(target=_begin, args=(part, theirs), daemon=True)
        child.start()
        theirs.close()
        children.append((child, ours, part))
    try:
        done = [[work() for work in mine]]
        return [*done, *(_end(ours, part) for _, ours, part in children)]
    finally:
        for child, ours, _ in children:
            child.kill()  # of no effect on one that is through
            child.join()
            ours.close()


def _begin(works: Sequence[Callable[[], T]], word: Connection) -> None:
    """What a child does: its part, of which it sends what came out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    found: list[T] | Exception
    try:
        found = [work() for work in works]
    except Exception as error:
        found = error
    with suppress(Exception):  # what cannot be sent comes again where it need not be
        word.send(found)


def _end(word: Connection, works: Sequence[Callable[[], T]]) -> list[T]:
    """What a child sends; the part of one that was killed is done here."""
    try:
        found = word.recv()
    except Exception:  # no word, or one that cannot be read
        return [work() for work in works]
    if isinstance(found, Exception):
        raise found
    return list(found)
