"""Prints the results of a finished run."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from bnnbench.cli.console import stdout
from bnnbench.config.published_protocol import use_published_protocols
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import SPLITS
from bnnbench.notes import one_line
from bnnbench.report.run_output import print_run


def show_run(folder: RunFolder) -> None:
    """Print the table of a finished run, its notes and, as the last line, its folder."""
    use_published_protocols()
    print_run(folder, stdout())
    # Plain print: a path must not be folded at the terminal's width.
    print(f"results: {one_line(str(folder.root))}", flush=True)


def all_diverged_message(what: str, folders: Collection[RunFolder]) -> str:
    """Return a message if all of these runs diverged on every split, else an empty string.

    Args:
        what: the subject of the message, such as `every run`.
        folders: finished runs.
    """
    if not folders or not all(diverged(folder) for folder in folders):
        return ""
    return (
        f"{what} diverged on every split, so there are no scores; "
        "try a smaller training.learning_rate."
    )


def diverged(folder: RunFolder) -> bool:
    """Whether a finished run diverged on every split; False for runs without splits."""
    if not folder.table(SPLITS).exists():
        return False
    table = pd.read_csv(folder.table(SPLITS))
    return bool("diverged" in table and (table["diverged"] != 0).all())
