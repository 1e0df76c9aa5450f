"""Processes that are killed, or whose disk fills up, at a chosen write."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from attack.attempt import attempt


class FaultInjector:
    """Counts file system calls of this process and calls a function from one of them on.

    Attributes:
        act: the function to call.
        at: the number of the first call, from 1.
        seen: number of calls so far.
    """

    def __init__(self, act: Callable[[], None], at: int) -> None:
        self.act, self.at, self.seen = act, at, 0

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count the calls of a function."""

        def wrapper(*arguments: Any, **named: Any) -> Any:
            self.seen += 1
            if self.seen >= self.at:
                self.act()
            return function(*arguments, **named)

        return wrapper

    @contextmanager
    def active(self) -> Iterator[None]:
        """Count the calls inside the block."""
        import tempfile

        with (
            patch.object(tempfile, "mkstemp", self.wrap(tempfile.mkstemp)),
            patch.object(os, "fsync", self.wrap(os.fsync)),
            patch.object(os, "replace", self.wrap(os.replace)),
        ):
            yield


def disk_full(number: int = errno.ENOSPC) -> Callable[[], None]:
    """A function that raises the error of a full disk, or with another error number."""

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return fail


def kill() -> None:
    """End this process like `kill -9`."""
    os.kill(os.getpid(), signal.SIGKILL)


def in_child(body: Callable[[], int]) -> int:
    """Run a function in a forked process; return its exit code, or minus the signal number."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            os._exit(body())
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_killed_at(arguments: Sequence[str], folder: Path, moment: int) -> int:
    """Run the command in a child that is killed at a write; return its exit code."""

    def body() -> int:
        with FaultInjector(kill, moment).active():
            return attempt(arguments, folder).code or 0

    return in_child(body)


def run_killed_after_trial(arguments: Sequence[str], folder: Path, name: str) -> int:
    """Run the command in a child that is killed after the first trial in the log `name`."""
    from bnnbench.experiment.split_search import TrialLog

    add = TrialLog.add

    def dying(log: TrialLog, trial: Any) -> None:
        add(log, trial)
        if log.path.name == name:
            kill()

    def body() -> int:
        with patch.object(TrialLog, "add", dying):
            return attempt(arguments, folder).code or 0

    return in_child(body)
