"""Which page a finished run gets: that of the kind of experiment which its record names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from rich.console import Console

from bnnbench.discovery import plugins
from bnnbench.experiment.record import read_record
from bnnbench.experiment.run_folder import FIGURES, RunFolder
from bnnbench.report.figures.saving import save_all
from bnnbench.report.page import Page
from bnnbench.report.renderers import terminal
from bnnbench.report.split_page import PAGE
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run import Run


@cache
def pages() -> dict[str, Page]:
    """Every page by its kind: that of the split experiment, and those of the suites' own."""
    own = (page for module in plugins("page") for page in getattr(module, "PAGES", ()))
    return {page.kind: page for page in (PAGE, *own)}


def page_of(folder: RunFolder) -> Page:
    """The page of a run that is finished, or about to be.

    Raises:
        UserError: if there is none for runs of its kind.
    """
    kind = read_record(folder).kind
    if kind not in pages():
        raise UserError(
            f"{folder.root} is a run of kind {kind}, which no page shows; the suite that it came "
            "from is not there or has no page for it."
        )
    return pages()[kind]


def write_page(folder: RunFolder, figures: str = "both", processes: int = 1) -> list[str]:
    """Writes what readers look at, whatever the kind of run.

    Args:
        folder: of the run.
        figures: a key of `FIGURES`.
        processes: that may draw side by side.

    Returns:
        The names of the files among it that a report over many runs reads back.
    """
    page = page_of(folder)
    page.write(folder)
    save_all(page.drawings(folder), folder.figure, FIGURES[figures], processes)
    return [folder.table(name).name for name in page.read_back]


def page_writer(run: Run) -> Callable[[RunFolder], list[str]]:
    """Writes the page of a run as it was asked for, with as many processes as its units had."""
    return partial(write_page, figures=run.figures, processes=run.workers)


def show(folder: RunFolder, console: Console) -> None:
    """Prints the table of a finished run and what its readers must know."""
    page = page_of(folder)
    console.print(terminal.grid([page.table(folder)]))
    for note in page.notes(folder):
        console.print(note, highlight=False, markup=False)  # E_p[r] is text, not a style
