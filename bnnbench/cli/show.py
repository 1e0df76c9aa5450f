"""What a finished run leaves to look at, and what it prints."""

from __future__ import annotations

from bnnbench.cli.console import stdout
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.pages import page_of


def write_page(folder: RunFolder) -> None:
    """Writes the summary and the figures of a run whose tables are all there."""
    page_of(folder).write(folder)


def show_run(folder: RunFolder) -> None:
    """Prints the table of a finished run, its notes, and its folder as the last line."""
    console, page = stdout(), page_of(folder)
    console.print(page.table(folder))
    for note in page.notes(folder):
        console.print(note, highlight=False)
    # Plain print: a path must come out whole, whatever the terminal's width.
    print(f"results: {folder.root}", flush=True)
