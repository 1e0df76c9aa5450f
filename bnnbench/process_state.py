"""Leaves the process of a program that calls the Python interface as it was."""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_lock = RLock()
"""Calls in several threads take turns: forks of one would copy the locks of another."""


@contextmanager
def unchanged_process() -> Iterator[None]:
    """Restore what a fit sets or joblib changes, and do not use the caller's random numbers."""
    import torch

    with _lock:
        drawn, variables, folders = random.getstate(), os.environ.copy(), [*sys.path]
        start_method = multiprocessing.get_start_method(allow_none=True)
        import rich.style  # noqa: F401  # draws random numbers when it is imported

        random.setstate(drawn)
        threads, flushes = torch.get_num_threads(), flushes_denormals()
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            torch.set_flush_denormal(flushes)
            multiprocessing.set_start_method(start_method, force=True)  # joblib sets the default
            os.environ.update(variables)
            sys.path[:] = folders


def flushes_denormals() -> bool:
    """Whether this thread replaces denormal numbers by zero; torch sets it, but does not tell."""
    return sys.float_info.min / 2 == 0
