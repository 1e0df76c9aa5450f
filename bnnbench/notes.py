"""Messages on standard error: notes, and the status of slow steps.

The wording of numbers, and the folding of lines.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TextIO

MAX_NAME, MAX_WORD, MAX_MESSAGE = 60, 255, 2000
"""Characters of a name in a list, of a word in a message (no name in a path is longer), and of a
message."""

DELAY = 0.7  # seconds before the message is printed where there is no terminal


def one_line(text: str) -> str:
    """Escape line breaks and other unprintable characters, which user input may contain."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shorten(text: str, limit: int = MAX_NAME) -> str:
    """Return the beginning of a string, for messages."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def message_text(text: str) -> str:
    """Return a message on one line, without the middle of what users or files made too long."""
    text = re.sub(rf"[^\s/]{{{MAX_WORD + 1},}}", lambda found: shorten(found[0]), one_line(text))
    if len(text) <= MAX_MESSAGE:
        return text
    half = MAX_MESSAGE // 2
    return f"{text[:half]} ... {text[-half:]}"


def join_words(words: Iterable[str]) -> str:
    """Return `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def quantity(count: int, noun: str, plural: str = "") -> str:
    """Return `1 split` or `20 splits`; `plural` is the noun with an s unless it is given."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def decimals_of(value: float, digits: int = 2) -> int:
    """Decimals for some significant digits, after rounding: 0.0996 is 0.10 and needs two."""
    return max(0, digits - 1 - math.floor(math.log10(float(f"{value:.{digits - 1}e}"))))


def with_interval(value: float, low: float, high: float) -> str:
    """Return `+0.12 [0.02, 0.22]`, with two significant digits of half the interval.

    There are more decimals where an end of the interval would otherwise be printed as zero, so
    that a printed interval contains zero only if the interval does.
    """
    if not high - low > 1e-12 * abs(value):
        return f"{value:+.4g}"
    decimals = decimals_of((high - low) / 2)
    while any(end and not float(f"{end:.{decimals}f}") for end in (low, high)):
        decimals += 1
    return f"{value:+.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def terminal_columns(stream: TextIO) -> int | None:
    """Return the width of the terminal that a stream writes to; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def shows_progress(stream: TextIO) -> bool:
    """Whether lines of a stream can be replaced; rich shows nothing on other terminals."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def cell_width(text: str) -> int:
    """Return the columns that a line takes on a terminal, where some characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fold(line: str, columns: int | None, indent: int = 0) -> str:
    """Fold a line between words, so that every name and path stays whole.

    Text in backquotes, such as a command, is a word if it fits on a line.

    Args:
        line: to fold.
        columns: width; None to return the line as it is, for programs that read it.
        indent: of all lines but the first. If the longest word needs the room, they are indented
            by two more than the first.
    """
    if columns is None or cell_width(line) <= columns:
        return line
    if indent + max(map(cell_width, line.split(" "))) > columns:
        indent = min(indent, len(line) - len(line.lstrip(" ")) + 2)
    lines = [""]
    for word in re.findall(" *(?:[^ `]*`[^`]+`[^ ]*|[^ ]+)", line):
        fits = indent + cell_width(word.lstrip(" ")) <= columns
        for part in [word] if fits else re.findall(" *[^ ]+", word):
            if lines != [""] and cell_width(lines[-1] + part) > columns:
                lines.append(" " * indent + part.lstrip(" "))
            else:
                lines[-1] += part
    return "\n".join(lines)


def print_folded(line: str, indent: int = 0, stream: TextIO | None = None) -> None:
    """Print a line, on standard output by default; on a terminal, fold it."""
    stream = stream or sys.stdout
    print(fold(line, terminal_columns(stream), indent), file=stream, flush=True)


def note(text: str) -> None:
    """Print a message to standard error."""
    print_folded(f"bnnbench: {message_text(text)}", stream=sys.stderr)


@cache
def note_once(text: str) -> None:
    """Print a message unless this process has printed it."""
    note(text)


@contextmanager
def status_message(what: str) -> Iterator[None]:
    """Print a status to standard error: at once on a terminal, else after `DELAY`."""
    if shows_progress(sys.stderr):
        from rich.console import Console

        with Console(stderr=True).status(f"{what} ..."):
            yield
        return
    line = threading.Timer(DELAY, lambda: print(f"{what} ...", file=sys.stderr, flush=True))
    line.daemon = True
    line.start()
    try:
        yield
    finally:
        line.cancel()
