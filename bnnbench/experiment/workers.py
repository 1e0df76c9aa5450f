"""Worker processes: forked, so that they begin with all that this one has loaded."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any

import torch

START = "fork" if sys.platform == "linux" else "spawn"
"""Elsewhere system libraries do not survive a fork."""


HELD: Mapping[str, Any] = {}
"""What this process was given when it began, if it is a worker."""


def cores() -> int:
    """How many this process may use.

    Of the machine, or fewer by its affinity mask, its container or the batch system's allocation.
    """
    from joblib import cpu_count

    allotted = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(cpu_count(), int(allotted)) if allotted.isdecimal() else cpu_count()


@contextmanager
def worker_processes(count: int, held: Mapping[str, Any] | None = None) -> Iterator[Executor]:
    """So many processes, of one thread each, which end with the block, however that ends.

    They are there when the block begins: what starts threads of its own, as progress does, comes
    after, since a fork copies locks that another thread may hold.

    Args:
        count: how many.
        held: what each of them has as `HELD`; a fork costs nothing, however large it is.
    """
    torch.set_num_threads(1)  # a pool of threads that exists would not in the children
    context, others = multiprocessing.get_context(START), multiprocessing.active_children()
    pool = ProcessPoolExecutor(
        count, context, initializer=_begin, initargs=(os.getpid(), held or {})
    )
    try:
        pool.submit(os.getpid).result()
        yield pool
    except BaseException:
        kill_workers(others)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def kill_workers(spared: Collection[BaseProcess] = ()) -> None:
    """Ends the processes that this one began, whatever they do; what they write is atomic.

    Args:
        spared: those that go on.
    """
    for child in multiprocessing.active_children():
        if child not in spared:
            child.kill()


def all_done(futures: Iterable[Future[Any]]) -> None:
    """Returns when all of it is done; the first error that comes is raised."""
    for future in as_completed(futures):
        future.result()


def _begin(parent: int, held: Mapping[str, Any]) -> None:
    """What a worker does first."""
    global HELD
    HELD = held
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    """Ends this process soon after its parent is gone; whatever it was writing is atomic."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
