"""What a finished run prints: its table, its notes, and its folder as the last line."""

from __future__ import annotations

from bnnbench.cli.console import stdout
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.pages import kind_of


def show_run(folder: RunFolder) -> None:
    """Prints the table of a finished run on standard output."""
    console, kind = stdout(), kind_of(folder)
    console.print(kind.table(folder))
    for note in kind.notes(folder):
        console.print(note, highlight=False)
    # Plain print: a path must come out whole, whatever the terminal's width.
    print(f"results: {folder.root}", flush=True)
