"""Leaves the process of a program that calls the Python interface as it was."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import torch

_lock = RLock()
"""Calls in several threads take turns: forks of one would copy the locks of another."""


@contextmanager
def unchanged_process() -> Iterator[None]:
    """Restore what a fit sets: threads of torch, denormal numbers, Python's random numbers."""
    with _lock:
        drawn = random.getstate()
        import rich.style  # noqa: F401  # draws random numbers when it is imported

        random.setstate(drawn)
        threads, flushes = torch.get_num_threads(), flushes_denormals()
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            torch.set_flush_denormal(flushes)


def flushes_denormals() -> bool:
    """Whether this thread replaces denormal numbers by zero; torch sets it, but does not tell."""
    return sys.float_info.min / 2 == 0
