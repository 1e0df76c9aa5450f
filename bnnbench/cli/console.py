"""The console that commands print to."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

from rich.console import Console

from bnnbench.notes import note

PIPE_WIDTH = 160  # columns of a file or a pipe, where nothing should be folded


class _Console(Console):
    """Raises `BrokenPipeError`, where rich would exit."""

    def on_broken_pipe(self) -> None:
        """Re-raise the error that rich is handling."""
        raise


def stdout() -> Console:
    """Return a console on standard output: folded at words on a terminal, wide elsewhere.

    Printing raises `BrokenPipeError` once the reader of a pipe is gone.
    """
    if sys.stdout.isatty():  # rich takes FORCE_COLOR for a terminal
        return _Console()
    console = _Console(width=PIPE_WIDTH)
    console.soft_wrap = True
    return console


def open_in_browser(page: Path) -> None:
    """Open a page in the browser; print its path if there is none."""
    if not webbrowser.open(page.resolve().as_uri()):
        note(f"no browser was found; the page is {page}.")
