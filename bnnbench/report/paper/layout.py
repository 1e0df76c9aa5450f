"""Layouts of a paper's table that fit a column or a page of two columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bnnbench.report.blocks import MISSING
from bnnbench.report.paper.paper_table import NO_SCORE, PaperTable, ScoreCell
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

OTHER_SPLITS = "‡"
"""Mark of a score on other splits than the rest of its data set."""

SIGNIFICANT_DIGITS = 4
"""Of a mean without a standard error."""


@dataclass(frozen=True)
class PrintedCell:
    """A formatted cell."""

    mean: str
    error: str
    best: bool
    other_splits: bool = False

    @property
    def text(self) -> str:
        """The text whose width the cell has."""
        text = f"{self.mean}±{self.error}" if self.error else self.mean
        return f"{text}{OTHER_SPLITS}" if self.other_splits else text


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
    def inches(self) -> float:
        """Approximate width."""
        first = max(ems(text) for text in (*self.row_labels, self.corner))
        blocks = [self._columns(block) for block in self.blocks]
        if self.stacked:
            columns = [max(above) for above in zip(*blocks, strict=True)]
        else:
            columns = [width for own in blocks for width in own]
        return (
            (first + sum(columns)) * FONT_SIZES[self.size] + COLUMN_GAP * len(columns)
        ) / POINTS_PER_INCH

    def _columns(self, block: MetricBlock) -> list[float]:
        """The width of each column of a block in ems."""
        cells = zip(*block.rows, strict=True)
        return [
            max(ems(label), *(ems(cell.text, cell.best) for cell in column))
            for label, column in zip(self.column_labels, cells, strict=True)
        ]

    @property
    def wide(self) -> bool:
        """Whether the table needs both columns of a page."""
        return self.inches > COLUMN_WIDTH

    @property
    def fits(self) -> bool:
        """Whether the table fits a page."""
        return self.inches <= PAGE_WIDTH


def ems(text: str, bold: bool = False) -> float:
    """Approximate width of a text in ems."""
    default = BOLD_WIDTH if bold else DEFAULT_WIDTH
    return sum(
        GLYPH_WIDTHS.get(sign, CAPITAL_WIDTH if sign.isupper() else default) for sign in text
    )


def best_layout(table: PaperTable) -> Layout:
    """Choose the first layout that fits, or else the narrowest.

    In order of preference: one column, larger font, metrics side by side, data sets as rows.
    """
    candidates = list(layouts(table))
    small, foot, script = (
        list(replace(layout, size=size) for layout in candidates) for size in FONT_SIZES
    )
    in_column = [layout for layout in (*small, *foot) if not layout.wide]
    on_page = [layout for layout in (*small, *foot, *script) if layout.fits]
    narrowest = min(script, key=lambda layout: layout.inches)
    return (in_column or on_page or [narrowest])[0]


def layouts(table: PaperTable) -> Iterator[Layout]:
    """Yield all layouts, with data sets or methods as rows."""
    datasets = tuple(table.datasets.values())
    methods = tuple(f"{one.name}†" if one.published else one.name for one in table.entries)
    by_dataset = tuple(metric_block(table, metric) for metric in table.metrics)
    by_method = tuple(replace(b, rows=tuple(zip(*b.rows, strict=True))) for b in by_dataset)
    for stacked in (False, True) if len(table.metrics) > 1 else (False,):
        yield Layout(methods, datasets, "Data set", by_dataset, stacked)
        yield Layout(datasets, methods, "Method", by_method, stacked)


def metric_block(table: PaperTable, metric: Metric) -> MetricBlock:
    """The cells of one metric, a row per data set; a missing one is a dash."""
    rows = []
    for dataset in table.datasets:
        keys = ((dataset, one.key, metric.key) for one in table.entries)
        cells = [table.cells.get(key, NO_SCORE) for key in keys]
        decimals = common_decimals(cells)
        rows.append(
            tuple(PrintedCell(*format_cell(c, decimals), c.best, c.other_splits) for c in cells)
        )
    return MetricBlock(metric, table.metrics[metric], tuple(rows))


def decimals_of(error: float) -> int:
    """Decimals of an error, by the rule of the Particle Data Group.

    Two significant digits if the three highest are 100 to 354, one if they are 355 to 949; above
    that the error is rounded up to 1.0 with two (Review of Particle Physics 2024, section 5.3 of
    its introduction). Rounding thus changes an error by at most a seventh.
    """
    exponent = math.floor(math.log10(error))
    leading = round(error / 10.0**exponent, 2)
    if leading >= 9.5:
        exponent, leading = exponent + 1, 1.0
    return max(0, (1 if leading < 3.55 else 0) - exponent)


def common_decimals(cells: Sequence[ScoreCell]) -> int | None:
    """The (lower) median of the decimals of some cells, or None if none has an error."""
    decimals = sorted(decimals_of(cell.stderr) for cell in cells if cell.stderr > 0)
    return decimals[(len(decimals) - 1) // 2] if decimals else None


def format_cell(cell: ScoreCell, common: int | None) -> tuple[str, str]:
    """Format the mean and the standard error of a cell.

    Args:
        cell: the score.
        common: decimals of the cells to compare with. The cell gets more if its error would be
            rounded to zero, and fewer if fewer were published.

    Returns:
        The mean, or a dash if it is missing, and the error, or an empty string.
    """
    if not math.isfinite(cell.mean):
        return MISSING, ""
    known = cell.stderr > 0
    if common is None and not known:
        own = SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(abs(cell.mean))) if cell.mean else 0
        common = max(0, own)
    decimals = common or 0
    if cell.decimals is not None:
        decimals = min(decimals, cell.decimals)
    if known:
        decimals = max(decimals, min_decimals(cell.stderr))
    return f"{cell.mean:.{decimals}f}", f"{cell.stderr:.{decimals}f}" if known else ""


def min_decimals(error: float) -> int:
    """Decimals that keep one significant digit of an error."""
    return max(0, -math.floor(math.log10(error)))
