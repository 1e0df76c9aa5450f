"""What operating systems do not have in common, with a fallback where this one lacks it."""

from __future__ import annotations

import math
import os
import stat
import sys
from importlib import import_module

START_METHOD = "fork" if sys.platform == "linux" and hasattr(os, "fork") else "spawn"
"""How processes start: on systems other than Linux, system libraries do not survive a fork."""

READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""To open a file without waiting for the writer of a pipe, or changing line ends on Windows."""


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
