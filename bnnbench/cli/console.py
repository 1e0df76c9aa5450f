"""Where the commands print."""

from __future__ import annotations

import sys

from rich.console import Console

PAGE = 160  # columns of a file or a pipe, where nothing should be folded to a terminal's width


def stdout() -> Console:
    """Standard output: folded at words on a terminal, wide and unfolded elsewhere."""
    if sys.stdout.isatty():  # rich takes FORCE_COLOR for a terminal
        return Console()
    console = Console(width=PAGE)
    console.soft_wrap = True
    return console
