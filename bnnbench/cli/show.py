"""What a finished run prints."""

from __future__ import annotations

import pandas as pd

from bnnbench.cli.console import stdout
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import SPLITS
from bnnbench.report.pages import show


def show_run(folder: RunFolder) -> None:
    """Prints the table of a finished run, its notes, and its folder as the last line."""
    show(folder, stdout())
    # Plain print: a path must come out whole, whatever the terminal's width.
    print(f"results: {folder.root}", flush=True)


def diverged(folder: RunFolder) -> bool:
    """Whether a finished run did so on every split; never, where its kind has no splits."""
    if not folder.table(SPLITS).exists():
        return False
    table = pd.read_csv(folder.table(SPLITS))
    return bool("diverged" in table and (table["diverged"] != 0).all())
