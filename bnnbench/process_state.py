"""Restores the state of a process that calls the Python interface."""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_lock = RLock()
"""Calls in several threads take turns, because a fork of one would copy another's locks."""


@contextmanager
def unchanged_process() -> Iterator[None]:
    """Restore what a fit or joblib changes, and leave the caller's random numbers untouched."""
    import torch

    with _lock:
        drawn, variables, folders = random.getstate(), os.environ.copy(), [*sys.path]
        start_method = multiprocessing.get_start_method(allow_none=True)
        import rich.style  # noqa: F401  # draws random numbers when it is imported

        random.setstate(drawn)
        threads = torch.get_num_threads()
        flushes_denormals = sys.float_info.min / 2 == 0  # torch can set this, but not read it
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            torch.set_flush_denormal(flushes_denormals)
            multiprocessing.set_start_method(start_method, force=True)  # joblib sets the default
            os.environ.update(variables)
            sys.path[:] = folders
