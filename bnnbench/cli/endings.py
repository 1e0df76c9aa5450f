"""How a command ends that cannot go on: in one sentence, which says what is kept."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

KEPT = "what is finished is kept, and the same command goes on from there"

REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "there is no permission",
    errno.EPERM: "there is no permission",
    errno.EMFILE: "too many files are open",
    errno.EIO: "the disk fails",
    errno.ENOENT: "a file or folder is gone",
    errno.EISDIR: "a folder stands where a file belongs",
}

NAMES = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.ELOOP)
"""Errors of what was typed, which would come again."""


STRICT = ("strict", "surrogateescape", None)
"""How a stream takes characters that its encoding lacks where it ends in an error; the second is
Python's in the C locale."""


class Terminated(BaseException):
    """A signal came; not an `Exception`, so that nothing takes it for a failure of its own.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""What a batch system sends, and a terminal that is closed."""


@contextmanager
def terminable() -> Iterator[None]:
    """Signals end the block as Ctrl-C would, so that locks and progress are cleared up."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise Terminated(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # What is ignored stays so: nohup wants it.
    heeded = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def speak_plainly() -> None:
    """No character stops an output, and libraries keep what they think of us to themselves."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and getattr(stream, "errors", None) in STRICT:
            reconfigure(errors="replace")
    warnings.filterwarnings("ignore", module=r"joblib(\.|$)")
    # In figures of names in other scripts: a box stands for what no font here has.
    warnings.filterwarnings("ignore", message=r"Glyph \d+ .*missing from font")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # on a home it cannot write to
    # Of joblib's process that clears up after workers; it inherits nothing but this.
    tracker = "ignore:resource_tracker:UserWarning"
    others = [word for word in os.environ.get("PYTHONWARNINGS", "").split(",") if word]
    os.environ["PYTHONWARNINGS"] = ",".join(dict.fromkeys([*others, tracker]))


def print_no_more() -> None:
    """What is printed from here on goes nowhere: the reader of a pipe (head, less) is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line(text: str) -> str:
    """What was typed may hold line breaks and worse: shown as they are written in Python."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def note(text: str) -> None:
    """Says something beside the numbers, on standard error."""
    print(f"bnnbench: {one_line(text)}", file=sys.stderr)


def failure(error: BaseException) -> tuple[str, int] | None:
    """What to say of an error of the machine, and the exit code; None for any other error."""
    if isinstance(error, OSError) and error.errno is not None:
        place = f" ({error.filename})" if error.filename else ""
        if error.errno in NAMES:
            return f"{os.strerror(error.errno).lower()}{place}.", 2
        reason = REASONS.get(error.errno, os.strerror(error.errno).lower())
        return f"{reason}{place}; {KEPT} once that is put right.", 1
    text = str(error)
    if isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and ("allocate memory" in text or "out of memory" in text)
    ):
        return f"there is not enough memory; {KEPT}, with fewer workers if need be.", 1
    # Of our own pool, and of joblib's; both too slow to import here.
    if type(error).__name__ in ("BrokenProcessPool", "TerminatedWorkerError"):
        return (
            "a worker process was killed, perhaps for want of memory; "
            f"{KEPT}, with fewer workers if need be.",
            1,
        )
    return None
