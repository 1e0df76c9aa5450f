"""Writes the results, figures and settings of one run as an HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.report import blocks
from bnnbench.report.figures.plotting import save_and_inline
from bnnbench.report.renderers import html
from bnnbench.report.run_output import run_details, run_page_for
from bnnbench.report.run_page import RunDetails
from bnnbench.results.read.run_tables import read_runs
from bnnbench.system import available_cores

NAME_AND_VALUE = (blocks.Column("Name", "label"), blocks.Column("Value", "text"))


def write_run_html(folder: RunFolder) -> Path:
    """Write `page.html` into the folder of a finished run.

    Raises:
        UserError: if the run is damaged or its kind of experiment has no page.
        PermissionError: if the folder is not writable.
    """
    run_page = run_page_for(folder)
    functions = run_page.figures(folder)
    (details,) = run_details(read_runs(folder.root), folder.root, with_charts=False)
    svgs = save_and_inline(functions, processes=available_cores())
    figures = [
        blocks.FigureBlock(name, run_page.captions.get(name, name.replace("_", " ")), draw)
        for name, draw in functions.items()
    ]
    target = folder.root / "page.html"
    write_text(target, html.page(details.summary.table.title, run_blocks(details, figures), svgs))
    return target


def run_blocks(
    details: RunDetails, figures: Iterable[blocks.FigureBlock]
) -> Iterator[blocks.Block]:
    """Yield the blocks of the page of a run, from top to bottom."""
    summary = details.summary
    yield blocks.Heading(summary.table.title, 1)
    if details.started:
        yield blocks.Paragraph(f"Started {details.started}.")
    yield blocks.TableBlock(summary.table.columns, summary.table.rows)
    if summary.table.caption:
        yield blocks.Paragraph(f"{summary.table.caption}.")
    if summary.notes:
        yield blocks.ItemList(summary.notes)
    yield from figures
    for table in summary.tables:
        yield blocks.Heading(table.title)
        yield blocks.TableBlock(table.columns, table.rows)
    for title, rows in (("Settings", details.settings), ("Environment", details.environment)):
        yield blocks.Heading(title)
        yield blocks.TableBlock(NAME_AND_VALUE, tuple(sorted(rows.items())))
