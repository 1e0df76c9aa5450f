"""The results of finished runs, as their kind of experiment presents them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from bnnbench.discovery import plugins
from bnnbench.experiment.store.provenance import (
    distinct_versions,
    mixed_code_note,
    read_environment,
)
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import FIGURE_FORMATS, RunFolder
from bnnbench.files import read_bytes
from bnnbench.forks import run_in_forks
from bnnbench.report.figures.plotting import describe_error, save_figures
from bnnbench.report.renderers import terminal
from bnnbench.report.run_page import RunDetails, RunPage, RunSummary
from bnnbench.report.split_run_page import SPLIT_RUN_PAGE
from bnnbench.results.read.run_tables import Runs
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run.run import Run


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


def write_page(
    folder: RunFolder, figures: str = "both", processes: int = 1, again: bool = False
) -> list[str]:
    """Write the missing parts of the page of a finished run: its tables and figures.

    Args:
        folder: of the run.
        figures: a key of `FIGURE_FORMATS`.
        processes: number of processes that draw.
        again: whether to write all of it.

    Returns:
        A sentence for everything that cannot be written. The run is finished nevertheless.
    """
    try:
        suffixes, mark = FIGURE_FORMATS[figures], read_bytes(folder.done)
        page = run_page_for(folder)
        if again or any(folder.is_outdated(folder.table(name)) for name in page.tables):
            page.write(folder)
        functions = {
            name: draw
            for name, draw in page.figures(folder).items()
            if again or not all(folder.figure(name, suffix).exists() for suffix in suffixes)
        }
        errors = save_figures(functions, folder.figure, suffixes, processes)
        if read_bytes(folder.done) != mark:  # another command has added results meanwhile
            return write_page(folder, figures, processes, again=True)
    except Exception as error:
        return [
            f"{folder.root} is finished, but its tables and figures for readers cannot be "
            f"written: {describe_error(error)}"
        ]
    return [f"{folder.root}: {error}" for error in errors.values()]


def write_pages(runs: Sequence[Run]) -> list[str]:
    """Write the missing parts of the pages of finished runs, in parallel; return the errors."""
    processes = max((run.workers for run in runs), default=1)
    each = processes if len(runs) == 1 else 1
    functions = [partial(write_page, run.folder, run.figures, each) for run in runs]
    return [error for errors in run_in_forks(functions, processes) for error in errors]


def print_run(folder: RunFolder, console: Console) -> None:
    """Print the results table of a finished run and the notes on it."""
    page = run_page_for(folder)
    console.print(terminal.Grid([page.table(folder)]))
    for note in [*code_notes(folder), *page.notes(folder)]:
        console.print(terminal.Prose(note), highlight=False)


def code_notes(folder: RunFolder) -> list[str]:
    """Say that several versions of the code computed a run, in a list of one sentence at most."""
    mixed = mixed_code_note(len(distinct_versions(read_record(folder).code_versions)))
    return [mixed] if mixed else []


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
            notes = *code_notes(folder), *summary.notes
            yield RunDetails(
                name,
                os.path.relpath(folder.root, report_root),
                replace(summary, notes=notes),
                {key: str(value) for key, value in table.at[name, "settings"].items()},
                environment,
                environment.pop("started", ""),
            )


def _summarise(
    page: RunPage, names: Iterable[str], runs: Runs, with_charts: bool
) -> Iterator[tuple[str, RunSummary]]:
    for name in names:
        folder = runs.folders[name]
        yield name, RunSummary(page.table(folder), tuple(page.notes(folder)))


def _environment(folder: RunFolder) -> dict[str, str]:
    """The environment of the last session of a run."""
    stored = read_environment(folder)
    versions = stored.get("versions")
    words = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, dict) else ""
    plain = {key: str(value) for key, value in stored.items() if not isinstance(value, dict | list)}
    return {**plain, "versions": words}
