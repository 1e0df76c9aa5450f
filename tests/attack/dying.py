"""Processes that die, or meet a full disk, at a chosen moment of their writing."""

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

from attack.attempts import attempt

MOMENTS = ("mkstemp", "fsync", "replace")
"""Before a file is made, once it is written and before it is named, in the order of a write."""


class Moments:
    """Counts the writes of this process and acts from one of them on.

    Attributes:
        act: what happens at the moment.
        at: from which of the counted writes on.
        seen: how many there were.
    """

    def __init__(self, act: Callable[[], None], at: int) -> None:
        self.act, self.at, self.seen = act, at, 0

    def wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which first counts."""

        def counted(*arguments: Any, **named: Any) -> Any:
            self.seen += 1
            if self.seen >= self.at:
                self.act()
            return function(*arguments, **named)

        return counted

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Counts until the block ends."""
        import tempfile

        with (
            patch.object(tempfile, "mkstemp", self.wrapped(tempfile.mkstemp)),
            patch.object(os, "fsync", self.wrapped(os.fsync)),
            patch.object(os, "replace", self.wrapped(os.replace)),
        ):
            yield


def full(number: int = errno.ENOSPC) -> Callable[[], None]:
    """What a write does on a full file system, or with another error number."""

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return fail


def kill() -> None:
    """What `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def in_a_child(body: Callable[[], int]) -> int:
    """Its exit code, minus the signal that ended it; nothing of it reaches this process."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            os._exit(body())
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(arguments: Sequence[str], folder: Path, moment: int) -> int:
    """Runs the command in a child that dies at a moment of its writing; its exit code."""

    def body() -> int:
        with Moments(kill, moment).watched():
            return attempt(arguments, folder).code or 0

    return in_a_child(body)


def die_at(arguments: Sequence[str], folder: Path, name: str) -> int:
    """Runs the command in a child that dies once a trial log of that name has an evaluation."""
    from bnnbench.experiment.trial_log import TrialLog

    add = TrialLog.add

    def dying(log: TrialLog, trial: Any) -> None:
        add(log, trial)
        if log.path.name == name:
            kill()

    def body() -> int:
        with patch.object(TrialLog, "add", dying):
            return attempt(arguments, folder).code or 0

    return in_a_child(body)
