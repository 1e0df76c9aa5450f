"""Renders blocks for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from bnnbench.notes import one_line
from bnnbench.report.blocks import Block, Heading, ItemList, Paragraph, TableBlock

MIN_FIRST_COLUMN = 17
"""Minimum width of the first column in characters, if the others are numbers."""


def grid(parts: Sequence[TableBlock]) -> Grid:
    """Render parts with the same columns as one table with row groups; numbers never wrap.

    Title and caption are those of the first part.
    """
    first = parts[0]
    table = Grid(
        title=plain(first.title) if first.title else None,
        caption=plain(first.caption) if first.caption else None,
        box=SIMPLE_HEAD,
        collapse_padding=True,
    )
    n_texts = sum(column.kind != "number" for column in first.columns)
    for place, column in enumerate(first.columns):
        is_number = column.kind == "number"
        table.add_column(
            plain(column.title),
            justify="right" if is_number else "left",
            no_wrap=is_number,
            overflow="fold",
            min_width=MIN_FIRST_COLUMN if place == 0 and n_texts == 1 else None,
        )
    for part in parts:
        if part.group:
            table.add_row(plain(part.group, style="bold"))
        for row in part.rows:
            table.add_row(*map(plain, row))
        if part.group:
            table.add_section()
    return table


def plain(text: str, style: str = "") -> Text:
    """Return text in which neither markup, such as "[s]", nor escape sequences have an effect."""
    return Text("\n".join(map(one_line, text.split("\n"))), style=style)


def render(blocks: Iterable[Block]) -> Iterator[RenderableType]:
    """Yield headings, paragraphs, lists and tables for a console, without figures and files."""
    for _, parts in groupby(blocks, lambda block: (type(block), getattr(block, "name", ""))):
        yield from _render(list(parts))


def _render(parts: Sequence[Block]) -> Iterator[RenderableType]:
    """Yield blocks of one type; tables with a name are parts of one table."""
    tables = [block for block in parts if isinstance(block, TableBlock)]
    if tables and tables[0].name:
        yield grid(tables)
        return
    for block in parts:
        if isinstance(block, TableBlock):
            yield grid([block])
        elif isinstance(block, Heading):
            yield plain(block.text, style="bold")
        elif isinstance(block, Paragraph):
            yield plain(block.text)
        elif isinstance(block, ItemList):
            yield from (plain(f"- {text}") for text in block.texts)
