"""What a finished run prints: its table, its notes, and its folder as the last line."""

from __future__ import annotations

from rich.console import Console

from bnnbench.paths import RunFolder
from bnnbench.report.run import run_notes, run_table


def show_run(folder: RunFolder) -> None:
    """Prints the table of a finished run on standard output."""
    console = Console()
    console.soft_wrap = not console.is_terminal  # a log file wraps nothing
    console.print(run_table(folder))
    for note in run_notes(folder):
        console.print(note, highlight=False)
    # Plain print: a path must come out whole, whatever the terminal's width.
    print(f"results: {folder.root}", flush=True)
