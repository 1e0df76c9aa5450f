"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table as Grid
from rich.text import Text

from bnnbench.report.section import Table

FIRST = 17
"""Letters that the first column keeps, however narrow the terminal."""


def grid(parts: Sequence[Table]) -> Grid:
    """One table of parts of one name, their groups as row groups; no number is ever folded.

    Args:
        parts: tables of the same columns; the first one's title and caption are printed.
    """
    first = parts[0]
    table = Grid(
        title=first.title or None,
        caption=first.caption or None,
        box=SIMPLE_HEAD,
        collapse_padding=True,
    )
    for place, column in enumerate(first.columns):
        is_number = column.holds == "numbers"
        # Text, not markup: rich would read "[s]" as a style.
        table.add_column(
            Text(column.title),
            justify="right" if is_number else "left",
            no_wrap=is_number,
            overflow="fold",
            min_width=None if place else FIRST,
        )
    for part in parts:
        if part.group:
            table.add_row(Text(part.group, style="bold"))
        for row in part.rows:
            table.add_row(*map(Text, row))
        if part.group:
            table.add_section()
    return table
