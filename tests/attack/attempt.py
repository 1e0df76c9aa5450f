"""One attempt to break the command line: the command, its outcome and the verdict."""

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
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType

from attack.audit import peak_memory, reset_peak_memory, watched
from support.quick import without_figures

TIME_LIMIT = 30
"""Seconds of CPU time after which an attempt counts as hung. Valid runs take a few seconds."""

MAX_MEMORY = 2.0
"""Memory of this process, including its libraries, in GB."""

TIMEOUT_FACTOR = 10
"""Limit on the wall-clock time relative to `TIME_LIMIT`, for busy machines."""


class Verdict(StrEnum):
    """The result of an attempt. Only the first two are acceptable.

    `wrong`: neither results nor an error, more than one error, accepted nonsense, or changed
    results. `code executed`: code of the working directory, or a program. `files outside`: changed
    files outside the working directory. `memory`: more than `MAX_MEMORY`.
    """

    RAN = "ran"
    REFUSED = "refused"
    WRONG = "wrong"
    TRACEBACK = "traceback"
    HANG = "hang"
    LEFTOVERS = "files left"
    EXECUTED = "code executed"
    OUTSIDE = "files outside"
    MEMORY = "memory"


OutcomeCheck = Callable[..., None]
"""Type of the fixture `check_outcome`."""

ACCEPTABLE = (Verdict.RAN, Verdict.REFUSED)


class Hang(BaseException):
    """Raised by the watchdog. A `BaseException`, so that ordinary handlers do not catch it."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of an attempt.

    Attributes:
        code: the exit code; None after an exception or a hang.
        out: standard output.
        errors: standard error, including a traceback.
        leftover_files: paths that should not exist, relative to the working directory.
        seconds: duration.
        executed: programs and files that were executed.
        outside: files that were changed outside the working directory.
        memory: peak of this process in GB.
    """

    code: int | None
    out: str
    errors: str
    leftover_files: tuple[str, ...] = ()
    seconds: float = 0.0
    executed: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    memory: float = 0.0

    @property
    def messages(self) -> list[str]:
        """The error messages, without progress lines and notes on damaged runs."""
        lines = [line for line in self.errors.splitlines() if line.startswith("bnnbench: ")]
        return [line for line in lines if not NOTE.match(line)]

    @property
    def verdict(self) -> Verdict:
        """The verdict, from the exit code and the output."""
        if self.executed or self.outside:
            return Verdict.EXECUTED if self.executed else Verdict.OUTSIDE
        if self.memory > MAX_MEMORY:
            return Verdict.MEMORY
        if self.code is None:
            hung = self.errors.rstrip().endswith("Hang")
            return Verdict.HANG if hung else Verdict.TRACEBACK
        if "Traceback (most recent" in self.errors + self.out:
            return Verdict.TRACEBACK
        if self.leftover_files:
            return Verdict.LEFTOVERS
        if unexpected_lines(self.errors):
            return Verdict.WRONG
        if self.code == 0:
            return Verdict.RAN if self.out.strip() and has_scores(self.out) else Verdict.WRONG
        if self.code == 1 and self.out.strip() and not self.messages:
            return Verdict.RAN  # a check with a negative result, such as `data verify`
        last = self.errors.strip().splitlines()[-1:]
        right = self.code in (1, 2, 130, 143) and len(self.messages) == 1 and self.messages == last
        return Verdict.REFUSED if right else Verdict.WRONG

    def __str__(self) -> str:
        """The failure message of a test."""
        return (
            f"{self.verdict}: exit code {self.code}, {self.seconds:.1f} s\n"
            f"--- out\n{self.out[-1500:]}\n--- errors\n{self.errors[-3000:]}\n"
            f"--- leftover files: {', '.join(self.leftover_files)}\n"
            f"--- executed: {self.executed}, outside: {self.outside}, {self.memory:.2f} GB"
        )


PROGRESS = re.compile(
    r"^(bnnbench: .*|(reading|preparing|fitting|checking) .*|.* on .*: .*"
    r"|.*: downloading .*|.* (left|so far).*|\s*)$"
)


NOTE = re.compile(
    r"^bnnbench: (left out: |not refreshed: |.* contains damaged files: "
    r"|.* is damaged; its numbers were |only \d+ rows: )"
)
"""Notes on runs that are left out or repaired, and on small tables."""


def unexpected_lines(errors: str) -> list[str]:
    """Lines of standard error that are neither our messages nor progress."""
    return [line for line in errors.splitlines() if not PROGRESS.match(line)]


def has_scores(out: str) -> bool:
    """Whether each row with RMSE in the output has a number."""
    rows = [line.split("RMSE", 1)[1] for line in out.splitlines() if line.startswith("  RMSE ")]
    return all(re.search(r"\d", row) for row in rows)


def attempt(
    arguments: Sequence[str],
    folder: Path,
    outputs: str = "outputs",
    encoding: str = "utf-8",
    limit: int = TIME_LIMIT,
    prepare: Callable[[], None] | None = None,
    figures: bool = False,
) -> Outcome:
    """Run `bnnbench ARGUMENTS` in this process, in `folder`.

    Args:
        arguments: of the command line.
        folder: the working directory. Existing files do not count as leftovers.
        outputs: the folder there to which a run may write.
        encoding: of standard output and standard error.
        limit: seconds of CPU time until it counts as hung.
        prepare: called in the working directory before the command runs.
        figures: whether to draw figures, which take most of the time of a tiny run.
    """
    before = files(folder)
    out = io.TextIOWrapper(io.BytesIO(), encoding, write_through=True)
    # Python's own standard error also escapes characters that it cannot encode.
    errors = io.TextIOWrapper(io.BytesIO(), encoding, "backslashreplace", write_through=True)
    code, began = None, time.monotonic()
    reset_peak_memory()
    with (
        nullcontext() if figures else without_figures(),  # first: it imports modules
        working_directory(folder),
        watched(folder) as watch,
        redirect_stdout(out),
        redirect_stderr(errors),
        watchdog(limit),
        show_warnings(),
    ):
        if prepare:
            prepare()
        code = _run(arguments, errors)
    texts = [_text(stream, encoding) for stream in (out, errors)]
    refused = code == 2 and "results: " not in texts[0]
    leftover_files = leftovers(folder, before, "" if refused else outputs)
    return Outcome(
        code,
        *texts,
        leftover_files,
        time.monotonic() - began,
        (*watch.programs, *watch.code),
        tuple(watch.outside),
        peak_memory(),
    )


def _run(arguments: Sequence[str], errors: io.TextIOWrapper) -> int | None:
    from bnnbench.cli.main import main

    try:
        return main(list(arguments))
    except SystemExit as stop:  # raised by argparse after --help
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except (Exception, Hang):
        errors.buffer.write(traceback.format_exc().encode(errors="backslashreplace"))
        return None


def _text(stream: io.TextIOWrapper, encoding: str) -> str:
    if stream.closed:
        return ""
    return stream.buffer.getvalue().decode(encoding, "replace")  # type: ignore[attr-defined]


@contextmanager
def working_directory(folder: Path) -> Iterator[None]:
    """Change the working directory; restore it, the environment and signal handlers at the end."""
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
    """Raises `Hang` after `limit` seconds of work, or `TIMEOUT_FACTOR` times as many of waiting.

    If the signal has no effect, the process dumps its stack and exits.
    """

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = {number: signal.signal(number, ring) for number in (signal.SIGALRM, signal.SIGPROF)}
    faulthandler.dump_traceback_later(2 * TIMEOUT_FACTOR * limit, exit=True, file=sys.__stderr__)
    signal.alarm(TIMEOUT_FACTOR * limit)
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
def show_warnings() -> Iterator[None]:
    """Send warnings to standard error, as for a user, instead of to pytest."""
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
    """Relative paths of everything below a folder; links are not followed."""
    return frozenset(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


TEMPORARY = re.compile(r"(^|/)\.[^/]+\.[a-z0-9_]{8}$|\.tmp$")


def leftovers(folder: Path, before: frozenset[str], outputs: str) -> tuple[str, ...]:
    """New temporary files, and new files outside the outputs folder.

    Args:
        folder: the working directory.
        before: existing paths.
        outputs: name of the outputs folder; empty after bad input, which must not write anything.
    """
    new = sorted(files(folder) - before)
    return tuple(p for p in new if p.split("/")[0] != outputs or TEMPORARY.search(p))
