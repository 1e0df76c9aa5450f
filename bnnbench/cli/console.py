"""The console that commands print to, and the results of a run on it."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import SPLITS
from bnnbench.notes import note, one_line, terminal_columns
from bnnbench.report.figures.plotting import describe_error
from bnnbench.report.run_output import print_run
from bnnbench.types import UserError

PIPE_WIDTH = 160  # columns of a file or a pipe, where lines should not be wrapped


class _Console(Console):
    """Raises `BrokenPipeError`, where rich would exit; shortens no line."""

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print a path that is longer than a line whole, where rich would cut it off."""
        super().print(*objects, **{"crop": False, **settings})

    def on_broken_pipe(self) -> None:
        """Re-raise the error that rich is handling."""
        raise


def stdout() -> Console:
    """Return a console on standard output, which wraps lines on a terminal only.

    Printing raises `BrokenPipeError` once the reader of a pipe is gone.
    """
    # Without a height, rich takes every terminal that TERM calls dumb for one of 80 columns.
    columns, height = terminal_columns(sys.stdout), 25
    console = _Console(width=columns or PIPE_WIDTH, height=height)
    console.soft_wrap = columns is None  # rich takes FORCE_COLOR for a terminal
    return console


def open_in_browser(page: Path) -> None:
    """Open a page in the browser; print its path if there is none."""
    if not webbrowser.open(page.resolve().as_uri()):
        note(f"no browser was found; the page is {page}.")


def show_run(folder: RunFolder) -> None:
    """Print the table of a finished run, its notes and, as the last line, its folder."""
    try:
        print_run(folder, stdout())
    except (UserError, BrokenPipeError):
        raise
    except Exception as error:  # the page may be that of a plug-in
        note(f"{folder.root} is finished, but cannot be printed: {describe_error(error)}")
    # Plain print: a path must not be wrapped at the terminal's width.
    print(f"results: {one_line(str(folder.root))}", flush=True)


def show_sweep(folders: Sequence[RunFolder]) -> None:
    """Print one table of the runs on splits of a sweep and, as the last line, their folder.

    The notes on each run are on its page.
    """
    from bnnbench.report.report_writer import results_table
    from bnnbench.results.read.run_tables import read_runs

    first, *others = (folder.root for folder in folders)
    stdout().print(results_table(read_runs(first, others=others)))
    print(f"results: {one_line(os.path.commonpath([first, *others]))}", flush=True)


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
