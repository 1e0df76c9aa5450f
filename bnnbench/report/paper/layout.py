"""Which way round the table of a paper fits a column, or a page of two columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bnnbench.report.numbers import MISSING
from bnnbench.report.paper.contents import Cell, Contender, PaperTable
from bnnbench.report.paper.digits import common_decimals, printed
from bnnbench.results.metrics import Metric

COLUMN, PAGE = 3.25, 6.75
"""Inches of a column, and of the two of a page, in the narrowest of the usual styles (ICML)."""

SIZES = {"small": 9.0, "footnotesize": 8.0, "scriptsize": 7.0}
"""LaTeX's sizes of letters and their points, where the text has ten."""

POINTS = 72.27
"""LaTeX's, of an inch."""

GAP = 6.0
"""Points between two columns: twice `tabcolsep`."""

EMS = {
    **dict.fromkeys("ijl'|.,:", 0.29),
    **dict.fromkeys("frst()[] _", 0.38),
    **dict.fromkeys("mw", 0.8),
    **dict.fromkeys("-+=", 0.78),
    **dict.fromkeys("MW", 0.95),
    "±": 1.22,
}
"""Widths of signs in Computer Modern, ems; other capitals are `CAPITAL`, all else is `USUAL`."""

CAPITAL, USUAL, BOLD = 0.72, 0.5, 0.575
"""Widths of capitals, of digits and most letters, and of bold digits, in ems."""


@dataclass(frozen=True)
class Printed:
    """A cell as it is printed."""

    mean: str
    error: str
    best: bool

    @property
    def text(self) -> str:
        """Its width is that of this."""
        return f"{self.mean}±{self.error}" if self.error else self.mean


@dataclass(frozen=True)
class Block:
    """Rows under one heading, or columns below one.

    Attributes:
        metric: that its cells are of.
        title: its printed name.
        rows: cells from left to right, by row.
    """

    metric: Metric
    title: str
    rows: tuple[tuple[Printed, ...], ...]


@dataclass(frozen=True)
class Layout:
    """A way to print the table.

    Attributes:
        heads: of the columns of one block.
        stubs: of the rows.
        corner: above the stubs.
        blocks: one for each metric.
        stacked: whether blocks stand one below the other, not side by side.
        size: a key of `SIZES`.
    """

    heads: tuple[str, ...]
    stubs: tuple[str, ...]
    corner: str
    blocks: tuple[Block, ...]
    stacked: bool
    size: str = "small"

    @property
    def inches(self) -> float:
        """Roughly how wide it is."""
        first = max(ems(text) for text in (*self.stubs, self.corner))
        blocks = [self._columns(block) for block in self.blocks]
        if self.stacked:
            columns = [max(above) for above in zip(*blocks, strict=True)]
        else:
            columns = [width for own in blocks for width in own]
        return ((first + sum(columns)) * SIZES[self.size] + GAP * len(columns)) / POINTS

    def _columns(self, block: Block) -> list[float]:
        """The width of each column of a block, ems."""
        cells = zip(*block.rows, strict=True)
        return [
            max(ems(head), *(ems(cell.text, cell.best) for cell in column))
            for head, column in zip(self.heads, cells, strict=True)
        ]

    @property
    def wide(self) -> bool:
        """Whether it needs both columns of a page."""
        return self.inches > COLUMN

    @property
    def fits(self) -> bool:
        """Whether a page has room for it."""
        return self.inches <= PAGE


def ems(text: str, bold: bool = False) -> float:
    """Roughly how wide a text is, in the height of its letters."""
    usual = BOLD if bold else USUAL
    return sum(EMS.get(sign, CAPITAL if sign.isupper() else usual) for sign in text)


def best_layout(table: PaperTable) -> Layout:
    """The first that fits: in one column before two, in larger letters before smaller.

    Data sets are rows before methods are, metrics stand side by side before one below the other.
    Where nothing fits, the narrowest.
    """
    ways = list(layouts(table))
    small, foot, script = (list(replace(way, size=size) for way in ways) for size in SIZES)
    in_column = [way for way in (*small, *foot) if not way.wide]
    on_page = [way for way in (*small, *foot, *script) if way.fits]
    narrowest = min(script, key=lambda way: way.inches)
    return (in_column or on_page or [narrowest])[0]


def layouts(table: PaperTable) -> Iterator[Layout]:
    """Every way round."""
    sets, ours = list(table.datasets), list(table.contenders)
    names = {one.key: f"{one.name}†" if one.published else one.name for one in ours}
    for stacked in (False, True) if len(table.metrics) > 1 else (False,):
        yield Layout(
            tuple(names.values()),
            tuple(table.datasets.values()),
            "Data set",
            tuple(
                block(table, metric, [[(s, c) for c in ours] for s in sets])
                for metric in table.metrics
            ),
            stacked,
        )
        yield Layout(
            tuple(table.datasets.values()),
            tuple(names.values()),
            "Method",
            tuple(
                block(table, metric, [[(s, c) for s in sets] for c in ours])
                for metric in table.metrics
            ),
            stacked,
        )


def block(
    table: PaperTable, metric: Metric, rows: Sequence[Sequence[tuple[str, Contender]]]
) -> Block:
    """The cells of one metric."""
    decimals = {
        dataset: common_decimals(
            [
                cell
                for one in table.contenders
                if (cell := table.cells.get((dataset, one.key, metric.key)))
            ]
        )
        for dataset in table.datasets
    }
    cells = tuple(
        tuple(
            shown(table.cells.get((dataset, one.key, metric.key)), decimals[dataset])
            for dataset, one in row
        )
        for row in rows
    )
    return Block(metric, table.metrics[metric], cells)


def shown(cell: Cell | None, decimals: int | None) -> Printed:
    """A cell, or the dash of one that is not there."""
    if cell is None:
        return Printed(MISSING, "", False)
    return Printed(*printed(cell, decimals), cell.best)
