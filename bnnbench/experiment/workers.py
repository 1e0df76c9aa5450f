"""Worker processes, forked so that they inherit all that this process has loaded."""

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

START_METHOD = "fork" if sys.platform == "linux" else "spawn"
"""On other systems, system libraries do not survive a fork."""

SHARED: Mapping[str, Any] = {}
"""In a worker: the objects it was started with."""


def available_cores() -> int:
    """Count the cores that this process may use.

    The affinity mask, the container and the allocation of a batch system can reduce them.
    """
    from joblib import cpu_count

    allotted = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return min(cpu_count(), int(allotted)) if allotted.isdecimal() else cpu_count()


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
    """Wait until all futures are done; raise the first error."""
    for future in as_completed(futures):
        future.result()


def _start_worker(parent: int, shared: Mapping[str, Any]) -> None:
    global SHARED
    SHARED = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    """End this process soon after its parent has died; this is safe because writes are atomic."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
