"""Layouts of a paper's table that fit a column or a page of two columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bnnbench.report.blocks import MISSING
from bnnbench.report.paper.paper_table import PaperTable
from bnnbench.report.paper.rounding import column_decimals, format_cell
from bnnbench.report.paper.score_cells import NO_SCORE, ScoreCell
from bnnbench.results.metrics import Metric

COLUMN_WIDTH, PAGE_WIDTH = 3.25, 6.75
"""Widths in inches in the narrowest common style (ICML)."""

FONT_SIZES = {"small": 9.0, "footnotesize": 8.0, "scriptsize": 7.0}
"""LaTeX font sizes in points, for a document with ten-point text."""

POINTS_PER_INCH = 72.27
"""In LaTeX."""

COLUMN_GAP = 6.0
"""Points between two columns, twice `tabcolsep`."""

GLYPH_WIDTHS = {
    **dict.fromkeys("ijl'|.,:", 0.29),
    **dict.fromkeys("frst()[] _", 0.38),
    **dict.fromkeys("mw", 0.8),
    **dict.fromkeys("-+=", 0.78),
    **dict.fromkeys("MW", 0.95),
    "±": 1.22,
}
"""Character widths in Computer Modern, in ems, where they differ from the defaults below."""

CAPITAL_WIDTH, DEFAULT_WIDTH, BOLD_WIDTH = 0.72, 0.5, 0.575
"""Widths of capitals, of other characters, and of bold digits, in ems."""

MARK_WIDTH = 0.55
"""Width of a superscript mark in ems."""

MAX_ERROR_DIGITS = 3
"""Layouts whose standard errors have more significant digits are used only if no other fits."""

NOT_TESTED = "‡"
"""Mark of a score that is not compared with the others."""

MARKS = {"better": "+", "worse": "-"}
"""Marks of scores that are significantly better or worse than those of the method of `--mine`."""


@dataclass(frozen=True)
class PrintedCell:
    """A formatted cell."""

    mean: str
    error: str = ""
    best: bool = False
    mark: str = ""

    @property
    def error_digits(self) -> int:
        """The number of significant digits of the standard error."""
        return len(self.error.replace(".", "").lstrip("0"))


def split_number(text: str) -> tuple[str, str]:
    """Split a number at its decimal point, which belongs to the second part."""
    whole, point, decimals = text.partition(".")
    return whole, point + decimals


@dataclass(frozen=True)
class ColumnShape:
    """A number as long as the longest parts of all cells in a column.

    Attributes:
        sign: `-` if a mean is negative.
        whole: zeros for the digits before the decimal point of a mean.
        fraction: the decimal point and zeros for the decimals of a mean.
        error_whole: as `whole`, for a standard error.
        error_fraction: as `fraction`, for a standard error.
        marked: whether a cell has a mark.
    """

    sign: str = ""
    whole: str = ""
    fraction: str = ""
    error_whole: str = ""
    error_fraction: str = ""
    marked: bool = False

    @classmethod
    def of(cls, cells: Iterable[PrintedCell]) -> ColumnShape:
        """Return the shape of a column."""
        cells = [cell for cell in cells if cell.mean != MISSING]
        means = [split_number(cell.mean) for cell in cells]
        errors = [split_number(cell.error) for cell in cells]
        return cls(
            sign="-" if any(whole.startswith("-") for whole, _ in means) else "",
            whole=longest(whole.removeprefix("-") for whole, _ in means),
            fraction=longest(fraction for _, fraction in means),
            error_whole=longest(whole for whole, _ in errors),
            error_fraction=longest(fraction for _, fraction in errors),
            marked=any(cell.mark for cell in cells),
        )

    @property
    def ems(self) -> float:
        """Approximate width, with bold digits."""
        error = f"±{self.error_whole}{self.error_fraction}" if self.error_whole else ""
        width = ems(f"{self.sign}{self.whole}{self.fraction}{error}", bold=True)
        return width + MARK_WIDTH * self.marked


def longest(digits: Iterable[str]) -> str:
    """Return the longest text, with zeros as digits."""
    found = max(digits, key=len, default="")
    return "".join("0" if sign.isdigit() else sign for sign in found)


@dataclass(frozen=True)
class MetricBlock:
    """The cells of one metric.

    Attributes:
        metric: the metric.
        title: its printed name.
        rows: cells by row, from left to right.
    """

    metric: Metric
    title: str
    rows: tuple[tuple[PrintedCell, ...], ...]


@dataclass(frozen=True)
class Layout:
    """A layout of the table.

    Attributes:
        column_labels: labels of the columns of one block.
        row_labels: labels of the rows.
        corner: heading of the row labels.
        blocks: one for each metric.
        stacked: whether blocks are printed below each other instead of side by side.
        size: a key of `FONT_SIZES`.
    """

    column_labels: tuple[str, ...]
    row_labels: tuple[str, ...]
    corner: str
    blocks: tuple[MetricBlock, ...]
    stacked: bool
    size: str = "small"

    @property
    def shapes(self) -> tuple[ColumnShape, ...]:
        """The shape of each column of scores, from left to right."""
        columns = [tuple(zip(*block.rows, strict=True)) for block in self.blocks]
        if self.stacked:
            return tuple(ColumnShape.of(sum(parts, ())) for parts in zip(*columns, strict=True))
        return tuple(ColumnShape.of(column) for block in columns for column in block)

    @property
    def inches(self) -> float:
        """Approximate width."""
        first = max(ems(text) for text in (*self.row_labels, self.corner))
        labels = self.column_labels * (len(self.shapes) // len(self.column_labels))
        columns = [
            max(ems(label), shape.ems) for label, shape in zip(labels, self.shapes, strict=True)
        ]
        return (
            (first + sum(columns)) * FONT_SIZES[self.size] + COLUMN_GAP * len(columns)
        ) / POINTS_PER_INCH

    @property
    def wide(self) -> bool:
        """Whether the table needs both columns of a page."""
        return self.inches > COLUMN_WIDTH

    @property
    def fits(self) -> bool:
        """Whether the table fits a page."""
        return self.inches <= PAGE_WIDTH

    @property
    def readable(self) -> bool:
        """Whether no standard error has more than `MAX_ERROR_DIGITS` significant digits."""
        cells = (cell for block in self.blocks for row in block.rows for cell in row)
        return all(cell.error_digits <= MAX_ERROR_DIGITS for cell in cells)


def ems(text: str, bold: bool = False) -> float:
    """Approximate width of a text in ems."""
    default = BOLD_WIDTH if bold else DEFAULT_WIDTH
    return sum(
        GLYPH_WIDTHS.get(sign, CAPITAL_WIDTH if sign.isupper() else default) for sign in text
    )


def best_layout(table: PaperTable) -> Layout:
    """Choose the first layout that fits, or else the narrowest.

    In order of preference: readable standard errors, one column, larger font, metrics side by side,
    data sets as rows.
    """
    candidates = list(layouts(table))
    small, foot, script = (
        [replace(layout, size=size) for layout in candidates] for size in FONT_SIZES
    )
    in_column = [layout for layout in (*small, *foot) if not layout.wide]
    on_page = [layout for layout in (*small, *foot, *script) if layout.fits]
    fitting = [*in_column, *on_page] or [min(script, key=lambda layout: layout.inches)]
    return next((layout for layout in fitting if layout.readable), fitting[0])


def layouts(table: PaperTable) -> Iterator[Layout]:
    """Yield all layouts, with data sets or methods as rows."""
    datasets = tuple(table.datasets.values())
    methods = tuple(f"{one.name}†" if one.published else one.name for one in table.entries)
    scores = {
        metric: [
            [table.cells.get((dataset, one.key, metric.key), NO_SCORE) for one in table.entries]
            for dataset in table.datasets
        ]
        for metric in table.metrics
    }
    by_dataset = tuple(
        metric_block(metric, title, zip(*scores[metric], strict=True))
        for metric, title in table.metrics.items()
    )
    by_method = tuple(
        metric_block(metric, title, scores[metric]) for metric, title in table.metrics.items()
    )
    for stacked in (False, True) if len(table.metrics) > 1 else (False,):
        yield Layout(methods, datasets, "Data set", by_dataset, stacked)
        yield Layout(datasets, methods, "Method", by_method, stacked)


def metric_block(metric: Metric, title: str, columns: Iterable[Iterable[ScoreCell]]) -> MetricBlock:
    """Format the columns of one metric; a missing score is a dash."""
    printed = [list(print_column(tuple(column))) for column in columns]
    return MetricBlock(metric, title, tuple(zip(*printed, strict=True)))


def print_column(cells: tuple[ScoreCell, ...]) -> Iterator[PrintedCell]:
    """Yield the formatted cells of a column, with the same number of decimals."""
    decimals = column_decimals(cells)
    for cell in cells:
        outcome = MARKS.get(cell.against_mine.get("outcome", ""), "")
        mark = NOT_TESTED if cell.untested else outcome
        yield PrintedCell(*format_cell(cell, decimals), cell.best, mark)
