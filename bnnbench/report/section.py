"""What a section of a report is made of: blocks that every renderer knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pandas as pd

from bnnbench.checks import check_choice
from bnnbench.results.choice import Choice
from bnnbench.results.reader import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ERRORS = {"std": "standard deviation", "stderr": "standard error"}
"""What the error bars of a figure may show over splits, and its name."""

PUBLISHED = {"like": "those of our methods", "all": "every value on record"}
"""Which published values may stand in a report."""


@dataclass(frozen=True)
class Style:
    """What readers may choose.

    Attributes:
        error: a key of `ERRORS`.
        published: a key of `PUBLISHED`.
        choice: of which metrics, and in which order the methods of the runs are.
    """

    error: str = "std"
    published: str = "like"
    choice: Choice = field(default_factory=Choice)

    def __post_init__(self) -> None:
        check_choice("--error", self.error, tuple(ERRORS))
        check_choice("--published", self.published, tuple(PUBLISHED))


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the report's own."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list of plain texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Column:
    """A column of a printed table.

    Attributes:
        title: its head.
        holds: `numbers` stand to the right, `words` to the left, `text` may be folded.
    """

    title: str
    holds: Literal["numbers", "words", "text"] = "numbers"


@dataclass(frozen=True)
class Table:
    """A printed table.

    Attributes:
        columns: from left to right.
        rows: printed cells.
        name: where several tables of one name are parts of one (results by data set), media that
            have room for one long table join them, with `group` over the rows of each. Only tables
            with a name are for a paper.
        group: see `name`.
        title: stands above.
        caption: plain text, says what the numbers are.
        runs: of each row, the digest of the run that it is of, for media with a page on each.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    name: str = ""
    group: str = ""
    title: str = ""
    caption: str = ""
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """A figure.

    Attributes:
        name: of its files.
        caption: plain text.
        draw: makes it; a report that shows no figures never calls it.
    """

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Data:
    """A table at full precision, written as `<name>.csv`.

    Attributes:
        name: of its file.
        table: its rows; the index is left out.
        text: what is said where the page links to the file.
    """

    name: str
    table: pd.DataFrame
    text: str = "As a table:"


Block = Heading | Paragraph | Items | Table | Drawing | Data


@dataclass(frozen=True)
class Section:
    """One part of the report over many runs."""

    blocks: tuple[Block, ...]


SectionOf = Callable[[Runs, Style], Section | None]
"""A section of the runs of a report; None where it has nothing to say of them."""


def words(*titles: str) -> tuple[Column, ...]:
    """Columns that hold words."""
    return tuple(Column(title, "words") for title in titles)


def numbers(*titles: str) -> tuple[Column, ...]:
    """Columns that hold numbers."""
    return tuple(Column(title) for title in titles)


def by_group(
    columns: tuple[Column, ...], groups: Iterable[str], rows: Iterable[tuple[str, ...]]
) -> tuple[Block, ...]:
    """A heading and a table for each group of rows, in the order of their first rows.

    Args:
        columns: of every table.
        groups: of each row, the data set for one.
        rows: printed cells.
    """
    found: dict[str, list[tuple[str, ...]]] = {}
    for group, row in zip(groups, rows, strict=True):
        found.setdefault(str(group), []).append(row)
    return tuple(
        block
        for group, own in found.items()
        for block in (Heading(group, 3), Table(columns, tuple(own)))
    )


def numbered(name: str, place: int) -> str:
    """The name of one of several figures, counted from 1: `orders`, `orders_2`, ..."""
    return name if place == 1 else f"{name}_{place}"


def parts(count: int, most: int) -> list[range]:
    """The places of `count` things on as few figures of at most `most` as can be, evenly.

    Nine panels of which eight fit go four and five: a lone one would stand large on its own.
    """
    figures = -(-count // most)
    ends = [round(k * count / figures) for k in range(figures + 1)] if figures else []
    return [range(start, end) for start, end in pairwise(ends)]
