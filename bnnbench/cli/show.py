"""What a finished run prints."""

from __future__ import annotations

from bnnbench.cli.console import stdout
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.pages import show


def show_run(folder: RunFolder) -> None:
    """Prints the table of a finished run, its notes, and its folder as the last line."""
    show(folder, stdout())
    # Plain print: a path must come out whole, whatever the terminal's width.
    print(f"results: {folder.root}", flush=True)
