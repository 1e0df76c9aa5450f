"""The results of finished runs, as their kind of experiment presents them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from bnnbench.discovery import plugins
from bnnbench.experiment.provenance import read_environment
from bnnbench.experiment.record import read_record
from bnnbench.experiment.run_folder import FIGURE_FORMATS, Page, RunFolder
from bnnbench.files import remove
from bnnbench.forks import run_in_forks
from bnnbench.report.figures.plotting import save_figures
from bnnbench.report.renderers import terminal
from bnnbench.report.run_page import FigureFunctions, RunDetails, RunPage, RunSummary
from bnnbench.report.split_run_page import SPLIT_RUN_PAGE
from bnnbench.results.run_tables import Runs
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


def run_figures(folder: RunFolder) -> FigureFunctions:
    """Return the functions that draw the figures of a run."""
    return run_page_for(folder).figures(folder)


def write_run_output(
    folder: RunFolder, figures: str = "both", processes: int = 1, draw: bool = True
) -> Page:
    """Write the summary tables and figures of a run into its folder.

    Args:
        folder: of the run.
        figures: a key of `FIGURE_FORMATS`.
        processes: number of processes that draw.
        draw: whether to draw the figures now; otherwise those of earlier results are removed.
    """
    page = run_page_for(folder)
    page.write(folder)
    functions = run_figures(folder)
    if draw:
        save_figures(functions, folder.figure, FIGURE_FORMATS[figures], processes)
    else:
        for name, suffix in product(functions, FIGURE_FORMATS["both"]):
            remove(folder.figure(name, suffix))
    return Page([folder.table(name).name for name in page.report_tables], sorted(functions))


def run_output_writer(run: Run, draw: bool) -> Callable[[RunFolder], Page]:
    """Return a function that writes the output of a run with the run's own options."""
    return partial(write_run_output, figures=run.figures, processes=run.workers, draw=draw)


def draw_missing_figures(runs: Sequence[Run]) -> list[UserError]:
    """Draw the missing figures of finished runs, of each run in one process.

    Returns:
        The errors of runs whose figures cannot be drawn.
    """
    functions = [partial(_draw_figures, run) for run in runs]
    errors = run_in_forks(functions, max((run.workers for run in runs), default=1))
    return [error for error in errors if error]


def _draw_figures(run: Run) -> UserError | None:
    folder = run.folder
    try:
        save_figures(run_figures(folder), folder.figure, FIGURE_FORMATS[run.figures])
    except UserError as error:
        return error
    return None


def print_run(folder: RunFolder, console: Console) -> None:
    """Print the results table of a finished run and the notes on it."""
    page = run_page_for(folder)
    console.print(terminal.grid([page.table(folder)]))
    for note in page.all_notes(folder):
        console.print(terminal.plain(note), highlight=False)


def run_details(runs: Runs, report_root: Path, with_charts: bool = True) -> Iterator[RunDetails]:
    """Yield the details of every run whose kind of experiment has a page.

    Pages with the run's own figures need no charts.
    """
    for kind, table in runs.tables.items():
        page = find_run_page(kind)
        if page is None:
            continue
        summarise = page.summarise or partial(_summarise, page, table.index)
        for name, summary in summarise(runs, with_charts):
            folder = runs.folders[name]
            environment = _environment(folder)
            yield RunDetails(
                name,
                os.path.relpath(folder.root, report_root),
                summary,
                {key: str(value) for key, value in table.at[name, "settings"].items()},
                environment,
                environment.pop("started", ""),
            )


def _summarise(
    page: RunPage, names: Iterable[str], runs: Runs, with_charts: bool
) -> Iterator[tuple[str, RunSummary]]:
    for name in names:
        folder = runs.folders[name]
        yield name, RunSummary(page.table(folder), tuple(page.all_notes(folder)))


def _environment(folder: RunFolder) -> dict[str, str]:
    """The environment of the last session of a run."""
    stored = read_environment(folder)
    versions = stored.get("versions")
    words = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, dict) else ""
    plain = {key: str(value) for key, value in stored.items() if not isinstance(value, dict | list)}
    return {**plain, "versions": words}
