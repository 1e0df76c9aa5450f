"""Writes and prints the results of a finished run, as its kind of experiment presents them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from rich.console import Console

from bnnbench.discovery import plugins
from bnnbench.experiment.run_folder import FIGURE_FORMATS, RunFolder, read_record
from bnnbench.report.figures.save import save_figures
from bnnbench.report.renderers import terminal
from bnnbench.report.run_page import RunPage
from bnnbench.report.split_run_page import SPLIT_RUN_PAGE
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run import Run


@cache
def find_run_page(kind: str) -> RunPage | None:
    """Return the page for a kind of experiment, from the suite with this kind; None if unknown."""
    if kind == SPLIT_RUN_PAGE.kind:
        return SPLIT_RUN_PAGE
    own = (page for module in plugins("page", {kind}) for page in getattr(module, "PAGES", ()))
    return next((page for page in own if page.kind == kind), None)


def run_page_for(folder: RunFolder) -> RunPage:
    """Return the page for the kind of experiment that the run's record names.

    Raises:
        UserError: if no page is known for this kind.
    """
    kind = read_record(folder).kind
    page = find_run_page(kind)
    if page is None:
        raise UserError(
            f"{folder.root}: unknown kind of experiment {kind!r}; the suite that defines it is not "
            "installed or provides no page for it.",
            setting="kind",
        )
    return page


def write_run_output(folder: RunFolder, figures: str = "both", processes: int = 1) -> list[str]:
    """Write the summary tables and figures of a run into its folder.

    Args:
        folder: the run folder.
        figures: a key of `FIGURE_FORMATS`.
        processes: number of processes that draw figures in parallel.

    Returns:
        The names of the written files that the report over many runs reads.
    """
    page = run_page_for(folder)
    page.write(folder)
    save_figures(page.figures(folder), folder.figure, FIGURE_FORMATS[figures], processes)
    return [folder.table(name).name for name in page.report_tables]


def run_output_writer(run: Run) -> Callable[[RunFolder], list[str]]:
    """Return a function that writes the output of a run with the run's own options."""
    return partial(write_run_output, figures=run.figures, processes=run.workers)


def print_run(folder: RunFolder, console: Console) -> None:
    """Print the results table of a finished run and the notes on it."""
    page = run_page_for(folder)
    console.print(terminal.grid([page.table(folder)]))
    for note in page.notes(folder):
        console.print(note, highlight=False, markup=False)  # E_p[r] is text, not a style
