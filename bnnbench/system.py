"""The system of a process: its environment variables, cores, memory and users.

What operating systems do not have in common has a fallback where this one lacks it. An environment
variable that cannot be used is ignored, with a note.
"""

from __future__ import annotations

import math
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TypeVar

from bnnbench.notes import note_once, shorten

T = TypeVar("T")

START_METHOD = "fork" if sys.platform == "linux" and hasattr(os, "fork") else "spawn"
"""How processes start: on systems other than Linux, system libraries do not survive a fork."""

READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""To open a file without waiting for the writer of a pipe, or changing line ends on Windows."""


JOBLIB_CORES = "LOKY_MAX_CPU_COUNT"
"""The environment variable that limits the processes of joblib."""


def user_id() -> int | None:
    """Return the number of the user; None on Windows, where files have no numbered owner."""
    return os.getuid() if hasattr(os, "getuid") else None


def is_own(status: os.stat_result) -> bool:
    """Whether the user owns a file; True on Windows, where others cannot write to a home."""
    return user_id() in (None, status.st_uid)


def is_writable_by_others(status: os.stat_result) -> bool:
    """Whether other users can write to a file; False on Windows, as in `is_own`."""
    return user_id() is not None and bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def memory() -> float:
    """Return the bytes of memory of this machine; infinite if they are unknown."""
    if not hasattr(os, "sysconf"):
        return math.inf
    try:
        present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):  # the name is unknown here
        return math.inf
    return present if present > 0 else math.inf


def address_space() -> float:
    """Return the limit of virtual memory of this process in bytes; infinite without a limit."""
    try:
        resource = import_module("resource")
    except ImportError:  # Windows
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def available_cores() -> int:
    """Count the cores that this process may use.

    The affinity mask, the container and the allocation of a batch system can reduce them.
    """
    from joblib import cpu_count

    if not read_variable(JOBLIB_CORES, whole_number, 0):
        os.environ.pop(JOBLIB_CORES, None)  # joblib would raise an error
    cores = int(cpu_count())
    return min(cores, read_variable("SLURM_CPUS_PER_TASK", whole_number, cores))


def read_variable(name: str, parse: Callable[[str], T], default: T) -> T:
    """Return the value of a variable; the default if it is not set, is empty or cannot be used.

    Args:
        name: of the variable.
        parse: raises ValueError, with the expected values, for an unusable string.
        default: its value otherwise.
    """
    text = os.environ.get(name, "")
    try:
        return parse(text) if text.strip() else default
    except ValueError as error:
        note_once(f"the environment variable {name}={shorten(text)} is ignored: {error}.")
        return default


def whole_number(text: str) -> int:
    """Return a whole number of at least 1."""
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError("it must be a whole number of at least 1")
    return int(text)


def positive_number(text: str) -> float:
    """Return a number greater than 0, which may be infinite."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise ValueError("it must be a number greater than 0")
    return value


@contextmanager
def set_variables(**values: str) -> Iterator[None]:
    """Set environment variables in the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
