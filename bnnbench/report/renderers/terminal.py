"""Renders tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table as Grid
from rich.text import Text

from bnnbench.report.blocks import Table

MIN_FIRST_COLUMN = 17
"""Minimum width of the first column in characters."""


def grid(parts: Sequence[Table]) -> Grid:
    """Render parts with the same columns as one table with row groups; numbers never wrap.

    Title and caption are those of the first part.
    """
    first = parts[0]
    table = Grid(
        title=first.title or None,
        caption=first.caption or None,
        box=SIMPLE_HEAD,
        collapse_padding=True,
    )
    for place, column in enumerate(first.columns):
        is_number = column.kind == "number"
        # Text, not markup: rich would read "[s]" as a style.
        table.add_column(
            Text(column.title),
            justify="right" if is_number else "left",
            no_wrap=is_number,
            overflow="fold",
            min_width=None if place else MIN_FIRST_COLUMN,
        )
    for part in parts:
        if part.group:
            table.add_row(Text(part.group, style="bold"))
        for row in part.rows:
            table.add_row(*map(Text, row))
        if part.group:
            table.add_section()
    return table
