"""Where the commands print."""

from __future__ import annotations

import sys

from rich.console import Console

PAGE = 160  # columns of a file or a pipe, where nothing should be folded to a terminal's width


class _Told(Console):
    """Says that nobody reads it, for which rich ends the program."""

    def on_broken_pipe(self) -> None:
        """Called where the error is at hand."""
        raise


def stdout() -> Console:
    """Standard output: folded at words on a terminal, wide and unfolded elsewhere.

    What is printed on it raises `BrokenPipeError` once the reader of a pipe has seen enough.
    """
    if sys.stdout.isatty():  # rich takes FORCE_COLOR for a terminal
        return _Told()
    console = _Told(width=PAGE)
    console.soft_wrap = True
    return console
