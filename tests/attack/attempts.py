"""One attempt on the command line: what was typed, what came of it, and the verdict."""

from __future__ import annotations

import faulthandler
import io
import os
import re
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType

LIMIT = 30
"""Seconds of work after which an attempt counts as hung; what is let through takes a few."""

PATIENCE = 10
"""How many times as long it may take on a machine that has other things to do."""


class Verdict(StrEnum):
    """What came of an attempt; only the first two are right.

    `wrong` is neither: no number and no sentence, more than a sentence, nonsense let through, or
    other numbers than before.
    """

    RAN = "ran"
    SENTENCE = "sentence"
    WRONG = "wrong"
    TRACEBACK = "traceback"
    HANG = "hang"
    LEFT = "files left"


Judge = Callable[..., None]
"""The fixture `judge`."""

RIGHT = (Verdict.RAN, Verdict.SENTENCE)


class Hang(BaseException):
    """The watchdog's: no handler of ordinary errors may swallow it."""


@dataclass(frozen=True)
class Outcome:
    """What an attempt left behind.

    Attributes:
        code: the exit code; None where an exception came through or it hung.
        out: standard output.
        errors: standard error, a traceback included.
        left: paths that should not be there, relative to the working directory.
        seconds: it took.
    """

    code: int | None
    out: str
    errors: str
    left: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def said(self) -> list[str]:
        """What the command has to say, line by line; progress and notes of damage do not count."""
        lines = [line for line in self.errors.splitlines() if line.startswith("bnnbench: ")]
        return [line for line in lines if not NOTE.match(line)]

    @property
    def verdict(self) -> Verdict:
        """Judged from the exit code and what was printed."""
        if self.code is None:
            hung = self.errors.rstrip().endswith("Hang")
            return Verdict.HANG if hung else Verdict.TRACEBACK
        if "Traceback (most recent" in self.errors + self.out:
            return Verdict.TRACEBACK
        if self.left:
            return Verdict.LEFT
        if noise(self.errors):
            return Verdict.WRONG
        if self.code == 0:
            return Verdict.RAN if self.out.strip() and sensible(self.out) else Verdict.WRONG
        if self.code == 1 and self.out.strip() and not self.said:
            return Verdict.RAN  # a check that answers no, such as `data verify`
        last = self.errors.strip().splitlines()[-1:]
        right = self.code in (1, 2, 130, 143) and len(self.said) == 1 and self.said == last
        return Verdict.SENTENCE if right else Verdict.WRONG

    def __str__(self) -> str:
        """For the message of a test that fails."""
        return (
            f"{self.verdict}: exit code {self.code}, {self.seconds:.1f} s\n"
            f"--- out\n{self.out[-1500:]}\n--- errors\n{self.errors[-3000:]}\n"
            f"--- left: {', '.join(self.left)}"
        )


PROGRESS = re.compile(
    r"^(bnnbench: .*|(reading|preparing|checking every run of) .*|.* on .*: .*|.*: downloading .*"
    r"|.* (left|so far).*|\s*)$"
)


NOTE = re.compile(
    r"^bnnbench: (left out: |.* holds damaged files: |.* is damaged; its numbers are "
    r"|\d+ rows are few: )"
)
"""One line for each run that a report goes without, or that is mended before it goes on, and what
is noticed of a table as soon as it is read."""


def noise(errors: str) -> list[str]:
    """Lines of standard error that are neither a sentence of ours nor progress."""
    return [line for line in errors.splitlines() if not PROGRESS.match(line)]


def sensible(out: str) -> bool:
    """Whether a run that claims success shows a number, if it shows a table of scores."""
    rows = [line.split("RMSE", 1)[1] for line in out.splitlines() if line.startswith("  RMSE ")]
    return all(re.search(r"\d", row) for row in rows)


def attempt(
    arguments: Sequence[str],
    folder: Path,
    outputs: str = "outputs",
    encoding: str = "utf-8",
    limit: int = LIMIT,
    inside_first: Callable[[], None] | None = None,
) -> Outcome:
    """Runs `bnnbench ARGUMENTS` in this process, in `folder`.

    Args:
        arguments: of the command line.
        folder: the working directory; what is there before is no leftover.
        outputs: the folder there that a run may write.
        encoding: of standard output and standard error.
        limit: seconds until it counts as hung.
        inside_first: called in the working directory before the command is.
    """
    before = files(folder)
    out = io.TextIOWrapper(io.BytesIO(), encoding, write_through=True)
    # As Python's own standard error, which can print anything.
    errors = io.TextIOWrapper(io.BytesIO(), encoding, "backslashreplace", write_through=True)
    code, began = None, time.monotonic()
    with inside(folder), redirect_stdout(out), redirect_stderr(errors), watchdog(limit), quiet():
        if inside_first:
            inside_first()
        code = _run(arguments, errors)
    texts = [_text(stream, encoding) for stream in (out, errors)]
    refused = code == 2 and "results: " not in texts[0]
    left = leftovers(folder, before, "" if refused else outputs)
    return Outcome(code, *texts, left, time.monotonic() - began)


def _run(arguments: Sequence[str], errors: io.TextIOWrapper) -> int | None:
    from bnnbench.cli.main import main

    argv, sys.argv = sys.argv, ["bnnbench", *arguments]
    try:
        return main(list(arguments))
    except SystemExit as stop:  # how Hydra and argparse end after --help
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except (Exception, Hang):
        errors.buffer.write(traceback.format_exc().encode(errors="backslashreplace"))
        return None
    finally:
        sys.argv = argv


def _text(stream: io.TextIOWrapper, encoding: str) -> str:
    if stream.closed:
        return ""
    return stream.buffer.getvalue().decode(encoding, "replace")  # type: ignore[attr-defined]


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """In that working directory, with environment and signal handlers put back afterwards."""
    before, environment = Path.cwd(), dict(os.environ)
    handlers = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def watchdog(limit: int) -> Iterator[None]:
    """Raises `Hang` after `limit` seconds of work, or `PATIENCE` times as many of waiting.

    If even that is not heard, the process says where it is.
    """

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = {number: signal.signal(number, ring) for number in (signal.SIGALRM, signal.SIGPROF)}
    faulthandler.dump_traceback_later(2 * PATIENCE * limit, exit=True, file=sys.__stderr__)
    signal.alarm(PATIENCE * limit)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def quiet() -> Iterator[None]:
    """Warnings go to standard error as for a user, not to the test runner."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for hidden in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", hidden)
        warnings.showwarning = _show_warning
        yield


def _show_warning(
    message: Warning | str, category: type, name: str, line: int, *rest: object
) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, name, line))


def files(folder: Path) -> frozenset[str]:
    """Everything below a folder, by its relative path."""
    return frozenset(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


TEMPORARY = re.compile(r"(^|/)\.[^/]+\.[a-z0-9_]{8}$|\.tmp$")


def leftovers(folder: Path, before: frozenset[str], outputs: str) -> tuple[str, ...]:
    """What should not be there: temporary files, and all outside the outputs folder.

    Args:
        folder: the working directory.
        before: what was there.
        outputs: the outputs folder's name; empty after bad input, which writes nothing.
    """
    new = sorted(files(folder) - before)
    return tuple(p for p in new if p.split("/")[0] != outputs or TEMPORARY.search(p))
