"""Building blocks of report pages. Every renderer supports every block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pandas as pd

from bnnbench.checks import check_choice
from bnnbench.results.reader import Runs
from bnnbench.results.run_filter import RunFilter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ERROR_BARS = {"std": "standard deviation", "stderr": "standard error"}
"""Statistic over splits that error bars may show, and its name in captions."""


@dataclass(frozen=True)
class Style:
    """Options of a report.

    Attributes:
        error_bars: a key of `ERROR_BARS`.
        all_published: whether to list every published value on the data sets of the runs, not only
            those of the methods that ran.
        run_filter: the metrics to show and the order of methods and data sets.
    """

    error_bars: str = "std"
    all_published: bool = False
    run_filter: RunFilter = field(default_factory=RunFilter)

    def __post_init__(self) -> None:
        check_choice("--error-bars", self.error_bars, tuple(ERROR_BARS))


@dataclass(frozen=True)
class Heading:
    """A heading. Level 1 is the title of the page."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class ItemList:
    """A bullet list of plain text."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Column:
    """A column of a printed table.

    Attributes:
        title: the column heading.
        kind: `number` columns are right-aligned, `label` and `text` columns left-aligned; only
            `text` may wrap.
    """

    title: str
    kind: Literal["number", "label", "text"] = "number"


@dataclass(frozen=True)
class Table:
    """A printed table.

    Attributes:
        columns: from left to right.
        rows: formatted cells.
        name: identifies parts of one long table, such as the results by data set. The LaTeX and
            terminal renderers join parts with the same name under row groups; LaTeX skips tables
            without a name.
        group: the heading of this part's rows.
        title: printed above the table.
        caption: plain text that explains the numbers.
        runs: the digest of the run of each row, for renderers that link to run pages.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    name: str = ""
    group: str = ""
    title: str = ""
    caption: str = ""
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class FigureBlock:
    """A figure.

    Attributes:
        name: the stem of its file names.
        caption: plain text. It explains bands, error bars and markers.
        draw: returns the figure. Reports without figures never call it.
    """

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class DataFile:
    """A table at full precision, written as `<name>.csv`.

    Attributes:
        name: the stem of the file name.
        table: the rows. The index is not written.
        text: precedes the link to the file.
    """

    name: str
    table: pd.DataFrame
    text: str = "Data at full precision:"


Block = Heading | Paragraph | ItemList | Table | FigureBlock | DataFile


@dataclass(frozen=True)
class Section:
    """One section of a report."""

    blocks: tuple[Block, ...]


SectionFunction = Callable[[Runs, Style], Section | None]
"""Builds a section of a report, or returns None if it does not apply to the runs."""


def label_columns(*titles: str) -> tuple[Column, ...]:
    """Columns of short text, which is never wrapped."""
    return tuple(Column(title, "label") for title in titles)


def number_columns(*titles: str) -> tuple[Column, ...]:
    """Columns of numbers."""
    return tuple(Column(title) for title in titles)


def tables_by_group(
    columns: tuple[Column, ...], groups: Iterable[str], rows: Iterable[tuple[str, ...]]
) -> tuple[Block, ...]:
    """A heading and a table for each group of rows, in order of first appearance.

    Args:
        columns: of every table.
        groups: the group of each row, such as its data set.
        rows: formatted cells.
    """
    rows_by_group: dict[str, list[tuple[str, ...]]] = {}
    for group, row in zip(groups, rows, strict=True):
        rows_by_group.setdefault(str(group), []).append(row)
    return tuple(
        block
        for group, group_rows in rows_by_group.items()
        for block in (Heading(group, 3), Table(columns, tuple(group_rows)))
    )


def numbered_name(name: str, number: int) -> str:
    """The name of the figure with this number, from 1: `orders`, `orders_2`, ..."""
    return name if number == 1 else f"{name}_{number}"


def even_chunks(count: int, max_size: int) -> list[range]:
    """Split `range(count)` into the fewest chunks of at most `max_size`, of nearly equal size.

    Nine panels with room for eight are split 4 + 5, because a figure of one panel looks oversized.
    """
    chunks = -(-count // max_size)
    ends = [round(k * count / chunks) for k in range(chunks + 1)] if chunks else []
    return [range(start, end) for start, end in pairwise(ends)]
