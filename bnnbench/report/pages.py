"""Which report a finished run gets, told by the files it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.table import Table

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.split_page import run_notes, run_table, write_run_report
from bnnbench.suites.linear_regression.page import line_notes, line_table, write_line_report


@dataclass(frozen=True)
class Kind:
    """How runs of one kind are shown.

    Attributes:
        write: makes the tables and figures from the run's other files.
        table: for the terminal.
        notes: sentences that belong below it.
    """

    write: Callable[[RunFolder], None]
    table: Callable[[RunFolder], Table]
    notes: Callable[[RunFolder], list[str]]


SPLITS = Kind(write_run_report, run_table, run_notes)
LINE = Kind(write_line_report, line_table, line_notes)


def kind_of(run: RunFolder) -> Kind:
    """The kind of a run, finished or about to be reported for the first time."""
    return LINE if run.posterior.is_file() else SPLITS


def write_any_report(run: RunFolder) -> None:
    """Writes what readers look at, whatever the kind of run."""
    kind_of(run).write(run)
