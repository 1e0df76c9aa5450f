"""Processes that are killed, or whose disk fills up, at a chosen write."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar, cast
from unittest.mock import patch

from attack.attempt import Outcome, attempt
from attack.audit import watched

T = TypeVar("T")


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


def in_child(body: Callable[[], T]) -> T | None:
    """Run a function in a fork of this process; return its result, or None if it was killed.

    As in a new process, no state of earlier attempts remains, but nothing is imported again.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=lambda: sender.send(body()))
    child.start()
    sender.close()
    try:
        return cast(T, receiver.recv())
    except EOFError:
        return None
    finally:
        child.join()
        receiver.close()


def attempt_in_child(
    arguments: Sequence[str], folder: Path, injector: FaultInjector
) -> Outcome | None:
    """Run the command, with faults, in a child; return None if it was killed."""

    def body() -> Outcome:
        with injector.active(folder):
            return attempt(arguments, folder)

    return in_child(body)


def kill_after_trial(arguments: Sequence[str], folder: Path, name: str) -> None:
    """Run the command in a child that is killed after the first trial in the log `name`."""
    from bnnbench.experiment.split_search import TrialLog

    add = TrialLog.add

    def dying(log: TrialLog, trial: Any) -> None:
        add(log, trial)
        if log.path.name == name:
            kill()

    def body() -> Outcome:
        with patch.object(TrialLog, "add", dying):
            return attempt(arguments, folder)

    assert in_child(body) is None
