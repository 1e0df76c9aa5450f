"""Processes whose disk fails, or that are killed, at a chosen operation on a file."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.auditing import watched


@dataclass
class Disk:
    """Counts the operations on files, and calls a function at one of them.

    Attributes:
        act: the function, which may raise an error.
        at: the number of the operation, from 1.
        once: whether later operations succeed, and whether files that are read count too.
        seen: the number of operations so far.
    """

    act: Callable[[], object]
    at: int
    once: bool = False
    seen: int = 0

    def __call__(self, event: str, changes: bool) -> None:
        """See an operation."""
        opened = event == "open" and (changes or self.once)
        if opened or event in ("os.rename", "os.mkdir"):
            self.seen += 1
            if self.seen == self.at or (self.seen > self.at and not self.once):
                self.act()


def fail_with(number: int) -> Callable[[], None]:
    """Return a function that raises an error of the operating system."""

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return fail


def kill_at(moment: int, folder: Path, body: Callable[[], object]) -> None:
    """Run a function in a fork that is killed at an operation on a file of the folder."""
    child = os.fork()
    if not child:
        try:
            kill = Disk(lambda: os.kill(os.getpid(), signal.SIGKILL), moment)
            with watched(folder, kill):
                body()
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
