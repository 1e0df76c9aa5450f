"""Processes that are killed, or whose disk fills up, at a chosen write."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

from attack.attempt import attempt
from attack.audit import watched


class FaultInjector:
    """Counts the file operations of a command in its folder, and calls a function at one of them.

    Opening, creating and renaming files are seen as audit events; flushes and writes are patched.

    Attributes:
        act: the function to call.
        at: the number of the first operation, from 1.
        once: whether to call it only then, instead of from then on.
        reads: whether to count files that are opened for reading.
        seen: number of operations so far.
    """

    def __init__(
        self, act: Callable[[], None], at: int, once: bool = False, reads: bool = False
    ) -> None:
        self.act, self.at, self.once, self.reads, self.seen = act, at, once, reads, 0

    def count(self) -> None:
        """Count an operation, which may fail."""
        self.seen += 1
        if self.seen == self.at or (self.seen > self.at and not self.once):
            self.act()

    def see(self, event: str, changes: bool) -> None:
        """Count an event, unless it removes a file."""
        if event in ("os.rename", "os.mkdir") or (event == "open" and (changes or self.reads)):
            self.count()

    @contextmanager
    def active(self, folder: Path) -> Iterator[None]:
        """Count the operations inside the block on files in the folder."""

        def flush(file: int) -> None:
            self.count()

        def opened(handle: int, mode: str = "r", *rest: Any, **named: Any) -> IO[Any]:
            if mode != "wb":
                return open(handle, mode, *rest, **named)
            return io.BufferedWriter(CountingFile(handle, self))

        with (
            watched(folder, self.see),
            patch.object(os, "fsync", flush),
            patch.object(os, "fdopen", opened),
        ):
            yield


class CountingFile(io.FileIO):
    """An unbuffered file whose writes are counted; the first one writes half of the bytes."""

    def __init__(self, handle: int, injector: FaultInjector) -> None:
        super().__init__(handle, "w")
        self._injector, self._short = injector, True

    def write(self, content: Any) -> int:
        """Write some bytes, also before an error."""
        size = (len(content) + 1) // 2 if self._short else len(content)
        self._short = False
        written = super().write(bytes(content)[:size])
        self._injector.count()
        return written


def fail_with(number: int) -> Callable[[], None]:
    """A function that raises an `OSError`."""

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
        with FaultInjector(kill, moment).active(folder):
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
