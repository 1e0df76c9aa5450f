"""The report over many runs: every section that has something to say, in `PATH/report`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from rich.table import Table

from bnnbench.discovery import plugins
from bnnbench.experiment.run_folder import FIGURES
from bnnbench.files import write_text
from bnnbench.forks import both
from bnnbench.report import sections
from bnnbench.report.figures.saving import save_for_page
from bnnbench.report.folder import ReportFolder
from bnnbench.report.renderers import html, latex, markdown, terminal
from bnnbench.report.run_details import details_of
from bnnbench.report.section import Data, Drawing, Section, SectionOf, Style
from bnnbench.report.sections.results import result_tables
from bnnbench.results.glossary import TERMS
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import Runs, require_scores

MANY = 50
"""Runs of which the details take longer than a process to begin."""


def found_sections() -> Iterator[SectionOf]:
    """The generic sections in their order, then those of every suite."""
    names = [module.name for module in pkgutil.iter_modules(sections.__path__)]
    modules = [import_module(f"{sections.__name__}.{name}") for name in names]
    for module in sorted(modules, key=lambda module: module.ORDER):
        yield module.section
    for page in plugins("page"):
        yield from getattr(page, "SECTIONS", ())


def sections_of(runs: Runs, style: Style) -> list[Section]:
    """What there is to say of these runs.

    Raises:
        UserError: if that is nothing.
    """
    found = [section for make in found_sections() if (section := make(runs, style))]
    if not found:
        require_scores(runs)
    return found


def write_report(
    runs: Runs, style: Style | None = None, to: Path | None = None, processes: int = 1
) -> ReportFolder:
    """Writes pages (HTML, Markdown, LaTeX), tables (CSV) and figures (PNG, PDF) of all runs.

    Args:
        runs: of `read_runs`.
        style: what readers chose.
        to: where to write; the folder `report` below that of the runs if not given.
        processes: that may work side by side.

    Raises:
        UserError: if there is nothing to report of such runs.
    """
    report = ReportFolder(to) if to else ReportFolder.below(runs.path)
    found, details = both(
        lambda: sections_of(runs, style or Style()),
        lambda: list(details_of(runs, report.root)),
        processes if len(runs.folders) >= MANY else 1,
    )
    write_text(report.page, f"{markdown.page(found)}\n{markdown.SEE_GLOSSARY}\n")
    write_text(report.glossary, markdown.glossary_page(TERMS))
    write_text(report.latex, latex.paper(found))
    blocks = [block for section in found for block in section.blocks]
    for block in blocks:
        if isinstance(block, Data):
            write_text(report.table(block.name), block.table.to_csv(index=False))
    drawings = {block.name: block.draw for block in blocks if isinstance(block, Drawing)}
    figures = save_for_page(drawings, report.figure, FIGURES["both"], processes)
    count = len(runs.folders)
    title = f"{runs.path.resolve().name}, {count} run{'s' * (count != 1)}"
    write_text(report.html, html.page(title, found, figures, details))
    return report


def results_table(runs: Runs, style: Style | None = None) -> Table:
    """The main results for a terminal of 80 columns, the data sets as row groups."""
    metrics = (style or Style()).choice.wanted(printed_in("terminal"))
    return terminal.grid(list(result_tables(runs.scored, metrics).values()))
