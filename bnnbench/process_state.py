"""Leaves the process of a program that calls the Python interface as it was.

What is set for a fit, or by a library, is set back when the outermost call ends, also if it raises.
Most other global objects are never touched, and the few others are set back where they are used.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, RLock

import torch

from bnnbench.discovery import own_folders
from bnnbench.environment import JOBLIB_CORES

_fits = RLock()
"""Held by a fit: forks of one thread would copy the locks of another."""

_calls = ExitStack(), [0]
"""Sets back what all threads share, and the number of calls."""

_counting = Lock()


@contextmanager
def unchanged_process() -> Iterator[None]:
    """Set back what the block changes in the state of the process.

    Decorates the functions of the Python interface.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def flushes_denormals() -> bool:
    """Whether this thread replaces denormal numbers by zero; torch sets it, but does not tell."""
    return sys.float_info.min / 2 == 0


@contextmanager
def one_fit() -> Iterator[None]:
    """Run the fit in the block while no other thread does, and restore how this one computes."""
    with _fits:
        threads, flushes = torch.get_num_threads(), flushes_denormals()
        try:
            yield
        finally:
            if torch.get_num_threads() != threads:
                torch.set_num_threads(threads)
            if flushes_denormals() != flushes:
                torch.set_flush_denormal(flushes)


def _enter() -> None:
    """Count a call; remember the state of the process before the first."""
    stack, count = _calls
    with _counting:
        count[0] += 1
        if count[0] == 1:
            stack.enter_context(warnings.catch_warnings())  # not safe in several threads
            stack.enter_context(_joblib_settings())
            stack.enter_context(_own_modules())
            _import_rich()


def _leave() -> None:
    """Restore the state of the process after the last of the calls."""
    stack, count = _calls
    with _counting:
        count[0] -= 1
        if count[0] == 0:
            stack.close()


@contextmanager
def _joblib_settings() -> Iterator[None]:
    """Restore what joblib sets and reads: the start method, and the number of its processes."""
    method, cores = multiprocessing.get_start_method(allow_none=True), os.environ.get(JOBLIB_CORES)
    try:
        yield
    finally:
        if method is None and multiprocessing.get_start_method(allow_none=True) is not None:
            multiprocessing.set_start_method(None, force=True)
        if cores is not None:
            os.environ[JOBLIB_CORES] = cores


@contextmanager
def _own_modules() -> Iterator[None]:
    """Make the modules of projects importable in the block only."""
    before = [*sys.path]
    sys.path += [folder for folder in own_folders() if folder not in before]
    try:
        yield
    finally:
        sys.path[:] = [path for path in sys.path if path in before or path not in own_folders()]


def _import_rich() -> None:
    """Import rich, which draws from Python's generator of random numbers when it is imported."""
    if "rich.style" not in sys.modules:
        state = random.getstate()
        import rich.style  # noqa: F401

        random.setstate(state)
