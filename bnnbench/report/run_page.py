"""The page of one run, to open in a browser: its table, figures, splits and settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from joblib import cpu_count

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.report.figures.saving import save_for_page
from bnnbench.report.page import Drawings
from bnnbench.report.pages import page_of
from bnnbench.report.renderers import html
from bnnbench.report.run_details import RunDetails, details_of
from bnnbench.report.section import (
    Block,
    Column,
    Drawing,
    Heading,
    Items,
    Paragraph,
    Section,
    Table,
)
from bnnbench.results.reader import read_runs

PAIR = (Column("Name", "words"), Column("Value", "text"))


def write_run_page(folder: RunFolder) -> Path:
    """Writes `page.html` into the folder of a finished run.

    Raises:
        UserError: if the run is damaged or of a kind that no page shows.
        PermissionError: if nothing may be written there.
    """
    drawings = page_of(folder).drawings(folder)
    (details,) = details_of(read_runs(folder.root), folder.root, with_charts=False)
    figures = save_for_page(drawings, processes=cpu_count())
    blocks = tuple(blocks_of(details, drawings))
    target = folder.root / "page.html"
    write_text(target, html.page(details.shown.table.title, [Section(blocks)], figures))
    return target


def blocks_of(details: RunDetails, drawings: Drawings) -> Iterator[Block]:
    """What the page of a run is made of, from top to bottom."""
    shown = details.shown
    yield Heading(shown.table.title, 1)
    if details.started:
        yield Paragraph(f"Begun {details.started}.")
    yield Table(shown.table.columns, shown.table.rows)
    if shown.table.caption:
        yield Paragraph(f"{shown.table.caption}.")
    if shown.notes:
        yield Items(shown.notes)
    for name, draw in drawings.items():
        yield Drawing(name, name.replace("_", " "), draw)
    for table in shown.tables:
        yield Heading(table.title)
        yield Table(table.columns, table.rows)
    for title, found in (("Settings", details.settings), ("Environment", details.environment)):
        yield Heading(title)
        yield Table(PAIR, tuple(sorted(found.items())))
