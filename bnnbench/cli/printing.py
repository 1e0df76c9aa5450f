"""What a finished run prints."""

from __future__ import annotations

from collections.abc import Collection

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


def without_numbers(what: str, folders: Collection[RunFolder]) -> str:
    """A sentence if all of these runs diverged on every split, else nothing.

    Args:
        what: their name, such as `every run`.
        folders: of finished runs.
    """
    if not folders or not all(diverged(folder) for folder in folders):
        return ""
    return (
        f"{what} diverged on every split, so nothing is known of it; "
        "try a smaller training.learning_rate."
    )


def diverged(folder: RunFolder) -> bool:
    """Whether a finished run did so on every split; never, where its kind has no splits."""
    if not folder.table(SPLITS).exists():
        return False
    table = pd.read_csv(folder.table(SPLITS))
    return bool("diverged" in table and (table["diverged"] != 0).all())
