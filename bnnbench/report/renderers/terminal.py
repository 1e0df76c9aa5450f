"""Renders blocks for a terminal. Lines break between words only, so that every name is whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from bnnbench.notes import cell_width, fold, one_line
from bnnbench.report.blocks import Block, Column, Heading, ItemList, Paragraph, TableBlock

if TYPE_CHECKING:
    import pandas as pd

READABLE_COLUMN = 16
"""Characters to which a column of text may be narrowed, unless it has a longer word."""


@dataclass(frozen=True)
class Prose:
    """Text that is folded on a terminal.

    Attributes:
        text: neither markup, such as "[s]", nor escape sequences have an effect.
        style: of rich.
        indent: of all lines but the first.
    """

    text: str
    style: str = ""
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        columns = None if options.no_wrap else options.max_width
        lines = (fold(one_line(line), columns, self.indent) for line in self.text.split("\n"))
        yield Text("\n".join(lines), style=self.style, overflow="ignore", no_wrap=True)


@dataclass(frozen=True)
class Grid:
    """Parts with the same columns, rendered as one table with row groups.

    A table that is too wide is continued below: the first columns of text are repeated, and the
    others follow in groups that fit. Without room for that, every cell has a line. Numbers never
    wrap. Title and caption are those of the first part.
    """

    parts: Sequence[TableBlock]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        first = self.parts[0]
        if first.title:
            yield Prose(first.title, "bold")
        smallest, natural = self._widths()
        groups = column_groups(first.columns, smallest, options.max_width)
        if any(_total([smallest[k] for k in group]) > options.max_width for group in groups):
            yield from self._records()
            groups = []
        for group in groups:
            least = [smallest[k] for k in group]
            widths = narrowed([natural[k] for k in group], least, options.max_width)
            yield self._table(group, widths)
        if first.caption:
            yield Prose(first.caption)

    def _widths(self) -> tuple[list[int], list[int]]:
        """Return the smallest and the natural width of every column."""
        columns = self.parts[0].columns
        rows = [row for part in self.parts for row in part.rows]
        cells = [[column.title, *(row[k] for row in rows)] for k, column in enumerate(columns)]
        cells[0] += [part.group for part in self.parts]
        natural = [max(map(_width, own)) for own in cells]
        words = [max(map(_width, " ".join(own).split()), default=0) for own in cells]
        numbers = [column.kind == "number" for column in columns]
        if numbers.count(False) == 1 and not numbers[0]:
            natural[0] = max(natural[0], READABLE_COLUMN)
        smallest = [
            width if is_number else max(word, min(width, READABLE_COLUMN))
            for width, word, is_number in zip(natural, words, numbers, strict=True)
        ]
        return smallest, natural

    def _records(self) -> Iterator[Prose]:
        """Yield a line per cell, for names that leave no room for another column."""
        for part in self.parts:
            if part.group:
                yield Prose(part.group, "bold")
            for row in part.rows:
                for k, (column, cell) in enumerate(zip(part.columns, row, strict=True)):
                    start = "- " if k == 0 else "  "
                    yield Prose(f"{start}{column.title}: {cell}", indent=4)

    def _table(self, chosen: Sequence[int], widths: Sequence[int]) -> Table:
        """Return some columns as a table of rich."""
        table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
        for k, width in zip(chosen, widths, strict=True):
            column = self.parts[0].columns[k]
            table.add_column(
                plain(column.title),
                justify="right" if column.kind == "number" else "left",
                width=width,
                overflow="fold",
            )
        for part in self.parts:
            if part.group:
                table.add_row(plain(part.group, style="bold"))
            for row in part.rows:
                table.add_row(*(plain(row[k]) for k in chosen))
            if part.group:
                table.add_section()
        return table


def frame_grid(frame: pd.DataFrame, texts: Collection[str], title: str = "") -> Grid:
    """Return a data frame as a table; columns that are not `texts` hold numbers."""
    columns = (Column(str(name), "text" if name in texts else "number") for name in frame)
    rows = frame.astype(str).itertuples(index=False, name=None)
    return Grid([TableBlock(tuple(columns), tuple(rows), title=title)])


def column_groups(
    columns: Sequence[Column], smallest: Sequence[int], room: int
) -> list[tuple[int, ...]]:
    """Return the indices of the columns of each table, of which each fits into `room`.

    Each begins with the columns of text before the first number.
    """
    numbers = (k for k, column in enumerate(columns) if column.kind == "number")
    keys = tuple(range(next(numbers, len(columns))))
    groups = [keys]
    for k in range(len(keys), len(columns)):
        if groups[-1] != keys and _total([smallest[i] for i in (*groups[-1], k)]) > room:
            groups.append(keys)
        groups[-1] = (*groups[-1], k)
    return groups


def narrowed(natural: Sequence[int], smallest: Sequence[int], room: int) -> list[int]:
    """Return widths of columns that fit into `room`; the widest ones give way first."""
    widths = list(natural)
    while _total(widths) > room and widths != [*smallest]:
        above = [k for k, width in enumerate(widths) if width > smallest[k]]
        widths[max(above, key=widths.__getitem__)] -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    """Return the width of a table: two spaces precede each column, and one ends a line."""
    return sum(widths) + 2 * len(widths) + 1


def _width(text: str) -> int:
    return max(cell_width(one_line(line)) for line in text.split("\n"))


def plain(text: str, style: str = "") -> Text:
    """Return text in which neither markup, such as "[s]", nor escape sequences have an effect."""
    return Text("\n".join(map(one_line, text.split("\n"))), style=style)


def render(blocks: Iterable[Block]) -> Iterator[RenderableType]:
    """Yield headings, paragraphs, lists and tables for a console, without figures and files.

    Adjacent tables with the same name are parts of one table.
    """
    for _, group in groupby(blocks, lambda block: getattr(block, "name", "") or object()):
        parts = list(group)
        match parts[0]:
            case TableBlock():
                yield Grid([part for part in parts if isinstance(part, TableBlock)])
            case Heading(text):
                yield Prose(text, "bold")
            case Paragraph(text):
                yield Prose(text)
            case ItemList(texts):
                yield from (Prose(f"- {text}", indent=2) for text in texts)
