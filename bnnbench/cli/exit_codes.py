"""How commands end: wrong arguments, failures, signals, closed pipes, and their exit codes."""

from __future__ import annotations

import argparse
import errno
import logging
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from bnnbench.cli.help import HelpFormatter
from bnnbench.files import RefusedFile, expand, is_out_of_memory
from bnnbench.system import address_space
from bnnbench.types import UserError

ARGUMENT = re.compile(r"(?:argument |arguments: |required: )([^\s:,]+)")
"""The argument named in a message of argparse."""


class Parser(argparse.ArgumentParser):
    """Raises `UserError` for a wrong argument; options may come before and after positionals."""

    _intermixed = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.register("type", Path, _path)

    def format_help(self) -> str:
        """Return the help in our layout, which parsing does not need."""
        self.formatter_class = HelpFormatter
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse positionals on both sides of options, where the command allows it."""
        whole = any(a.nargs in (argparse.PARSER, argparse.REMAINDER) for a in self._actions)
        if self._intermixed or whole:
            return super().parse_known_args(args, namespace)
        self._intermixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixed = False

    def error(self, message: str) -> NoReturn:
        found = ARGUMENT.search(message)
        setting = max(found[1].split("/"), key=len) if found else None
        raise UserError(f"{message}; see `{self.prog} --help`.", setting)


def _path(text: str) -> Path:
    """Return the path of an argument whose type is `Path`."""
    try:
        return expand(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


MIN_ADDRESS_SPACE = 3e9
"""In bytes. With less memory, libraries abort or wait forever instead of raising an error."""

RESUME_HINT = "finished work is kept; the same command resumes from there"

OS_ERROR_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is exceeded",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EMFILE: "too many open files",
    errno.EIO: "disk input/output error",
    errno.ENOENT: "a file or folder has disappeared",
    errno.EISDIR: "a folder is in the place of a file",
}

PATH_ERRORS = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.ELOOP)
"""Errors of a path that the user gave, which a second attempt would not fix."""

STRICT_HANDLERS = ("strict", "surrogateescape", None)
"""Error handlers of a stream that raise for characters outside its encoding; the second is
Python's default in the C locale."""


class Terminated(BaseException):
    """A signal arrived. Not an `Exception`, so that no handler mistakes it for an error.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Sent by batch systems, and when a terminal is closed."""


@contextmanager
def raise_on_signals() -> Iterator[None]:
    """Raise `Terminated` on a signal, as Ctrl-C would, so that locks and progress are cleared."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise Terminated(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Ignored signals stay ignored, as nohup expects.
    handled = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def configure_output() -> None:
    """Replace characters that the output encoding lacks, and silence warnings of libraries."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and getattr(stream, "errors", None) in STRICT_HANDLERS:
            reconfigure(errors="replace")
    warnings.filterwarnings("ignore", module=r"joblib(\.|$)")
    # Figures show a box for characters that no installed font has.
    warnings.filterwarnings("ignore", message=r"Glyph \d+ .*missing from font")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # warns about read-only homes
    # For joblib's resource tracker, a process that inherits only the environment.
    tracker = "ignore:resource_tracker:UserWarning"
    others = [word for word in os.environ.get("PYTHONWARNINGS", "").split(",") if word]
    os.environ["PYTHONWARNINGS"] = ",".join(dict.fromkeys([*others, tracker]))


def ignore_closed_pipe() -> None:
    """Discard further output: the reader of the pipe (head, less) is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def suppress_closed_pipe() -> Iterator[None]:
    """Go on without output once the reader of the pipe is gone."""
    try:
        yield
    except BrokenPipeError:
        ignore_closed_pipe()


def describe_failure(error: BaseException) -> tuple[str, int] | None:
    """Return the message and exit code for a machine failure; None for any other error."""
    if isinstance(error, RefusedFile):
        return str(error), 2
    if isinstance(error, OSError) and error.errno is not None:
        place = f" ({error.filename})" if error.filename else ""
        if error.errno in PATH_ERRORS:
            return f"{os.strerror(error.errno).lower()}{place}.", 2
        reason = OS_ERROR_REASONS.get(error.errno, os.strerror(error.errno).lower())
        return f"{reason}{place}; {RESUME_HINT} once this is fixed.", 1
    if is_out_of_memory(error):
        return f"out of memory; {RESUME_HINT}, if necessary with fewer workers.", 1
    if type(error).__name__ == "WorkerCrash":  # too slow to import here
        return f"{error}; test your own classes with `bnnbench check`.", 1
    # Raised by our own pool and by joblib's, both too slow to import here.
    if type(error).__name__ in ("BrokenProcessPool", "TerminatedWorkerError"):
        return (
            "a worker process was killed, perhaps because memory ran out; "
            f"{RESUME_HINT}, if necessary with fewer workers.",
            1,
        )
    if name := _environment_variable(error):
        reason = " ".join(str(error).split())[:200]
        return f"the environment variable {name} cannot be used ({reason}); correct or unset it.", 2
    return None


def _environment_variable(error: BaseException) -> str | None:
    """Return the variable that a library could not read, by the error's text or its source line."""
    lines = "".join(traceback.format_exception(error)).splitlines()  # also those of a worker
    read = [line for line in lines if "environ" in line or "getenv" in line]
    names = re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b", "\n".join([str(error), *read]))
    return next((name for name in names if name in os.environ), None)


def check_address_space() -> None:
    """Raise `UserError` if the limit of this process is too low for the libraries."""
    limit = address_space()
    if limit < MIN_ADDRESS_SPACE:
        raise UserError(
            f"the limit of virtual memory is {limit / 1e9:.2g} GB, but {MIN_ADDRESS_SPACE / 1e9:g} "
            "GB are necessary; raise it with `ulimit -v unlimited`.",
            "ulimit -v",
            "address_space",
        )
