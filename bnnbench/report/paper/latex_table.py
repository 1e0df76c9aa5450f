"""The table of a paper in LaTeX (booktabs), in a layout that fits a column or a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bnnbench.notes import join_words, one_line
from bnnbench.report.blocks import describe_statistic
from bnnbench.report.paper.latex_cells import (
    PADDED,
    ColumnShape,
    NumberFormat,
    PrintedCell,
    column_decimals,
    escaped,
    format_cell,
    text_ems,
)
from bnnbench.report.paper.paper_table import NO_SCORE, PaperTable, ScoreCell, name_in_sentence
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS
from bnnbench.results.compare.significance import SIGNIFICANCE_LEVEL
from bnnbench.results.metric_table import Metric

COLUMN_WIDTH, PAGE_WIDTH, PAGE_HEIGHT = 3.25, 6.75, 9.0
"""Sizes in inches in the narrowest common style (ICML)."""

FONT_SIZES = {"small": (9.5, 11.0), "footnotesize": (8.75, 9.5), "scriptsize": (8.3, 8.0)}
"""LaTeX font sizes, in a document with ten-point text: width of an em of the ten-point font, whose
glyphs are narrower in relation to their size, and distance of lines, in points. The widths are up
to 3 % too large, so that a table is not wider than estimated."""

CAPTION_HEIGHT = 1.5
"""Inches for a caption of eight lines and the space around it."""

RULE_SPACE = 16.0
"""Points around the rules of the table and above it; half of it around the rule of a metric."""

ARROW_WIDTH = 0.9
"""Width of an arrow and the space before it, in ems."""

POINTS_PER_INCH = 72.27
"""In LaTeX."""

COLUMN_GAP = 6.0
"""Points between two columns, twice `tabcolsep`."""

MAX_ERROR_DIGITS = 3
"""Layouts whose standard errors have more significant digits are used only if no other fits."""

NOT_TESTED = "‡"
"""Mark of a score that is not compared with the others."""

MARKS = {"better": "+", "worse": "-"}
"""Marks of scores that are significantly better or worse than those of the method of `--mine`."""


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
        numbers: how numbers are aligned.
        size: a key of `FONT_SIZES`.
    """

    column_labels: tuple[str, ...]
    row_labels: tuple[str, ...]
    corner: str
    blocks: tuple[MetricBlock, ...]
    stacked: bool
    numbers: NumberFormat = PADDED
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
        em, _ = FONT_SIZES[self.size]
        first = max(text_ems(text) for text in (*self.row_labels, self.corner))
        count = len(self.column_labels)
        labels = self.column_labels * (len(self.shapes) // count)
        columns = [
            em * max(text_ems(label), self.numbers.ems(shape))
            for label, shape in zip(labels, self.shapes, strict=True)
        ]
        titles = [em * (text_ems(block.title) + ARROW_WIDTH) for block in self.blocks]
        groups = [
            sum(columns[start : start + count]) + COLUMN_GAP * count
            for start in range(0, len(columns), count)
        ]
        if self.stacked:
            return max(em * first + groups[0], *titles) / POINTS_PER_INCH
        width = sum(map(max, groups, (title + COLUMN_GAP for title in titles)))
        return (em * first + width) / POINTS_PER_INCH

    @property
    def wide(self) -> bool:
        """Whether the table needs both columns of a page."""
        return self.inches > COLUMN_WIDTH

    @property
    def height(self) -> float:
        """Approximate height in inches, without the caption."""
        _, line = FONT_SIZES[self.size]
        count = len(self.blocks) if self.stacked else 1
        lines = 1 + count * len(self.row_labels) + (count if self.stacked else 1)
        space = RULE_SPACE * (1 + count / 2)
        return (lines * line + space) / POINTS_PER_INCH

    @property
    def fits_width(self) -> bool:
        """Whether the table is at most as wide as a page."""
        return self.inches <= PAGE_WIDTH

    @property
    def fits_height(self) -> bool:
        """Whether the table and `CAPTION_HEIGHT` are at most as high as a page."""
        return self.height + CAPTION_HEIGHT <= PAGE_HEIGHT

    @property
    def readable(self) -> bool:
        """Whether no standard error has more than `MAX_ERROR_DIGITS` significant digits."""
        cells = (cell for block in self.blocks for row in block.rows for cell in row)
        return all(cell.error_digits <= MAX_ERROR_DIGITS for cell in cells)


def best_layout(table: PaperTable, numbers: NumberFormat = PADDED) -> Layout:
    """Choose the first layout that fits a page, or else its width, or else the narrowest.

    In order of preference: readable standard errors, one column, larger font, metrics side by side,
    data sets as rows.
    """
    candidates = list(layouts(table, numbers))
    small, foot, script = (
        [replace(layout, size=size) for layout in candidates] for size in FONT_SIZES
    )
    in_column = [layout for layout in (*small, *foot) if not layout.wide]
    on_page = [layout for layout in (*small, *foot, *script) if layout.fits_width]
    ordered = [*in_column, *on_page]
    lowest = sorted(ordered, key=lambda layout: layout.height)[:1]
    fitting = [layout for layout in ordered if layout.fits_height] or lowest
    fitting = fitting or [min(script, key=lambda layout: layout.inches)]
    return next((layout for layout in fitting if layout.readable), fitting[0])


def layouts(table: PaperTable, numbers: NumberFormat = PADDED) -> Iterator[Layout]:
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
        yield Layout(methods, datasets, "Data set", by_dataset, stacked, numbers)
        yield Layout(datasets, methods, "Method", by_method, stacked, numbers)


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


ARROWS = {"lower": r"$\downarrow$", "higher": r"$\uparrow$"}

UNITS = {"target": "original units", "nats": "nats per test point", "s": "seconds"}


BOLD_RULE = (
    "Bold: the best mean and all means that are not significantly worse (two-sided correlated "
    f"t-test on at least {MIN_COMMON_SPLITS} common splits; Nadeau and Bengio, 2003; p below "
    f"{SIGNIFICANCE_LEVEL:g} after Holm's correction over all comparisons with the best mean of "
    "the same data set and score)."
)


def latex_document(table: PaperTable, layout: Layout) -> str:
    """The LaTeX file: required packages and runs as comments, then the table `tab:results`."""
    numbers = layout.numbers
    place = "table*" if layout.wide else "table"
    lines = [
        numbers.packages,
        *(f"% {one_line(line)}" for line in table.runs),
        rf"\begin{{{place}}}[t]",
        r"\centering",
        rf"\caption{{{caption(table)}}}\label{{tab:results}}",
        rf"\smallskip\{layout.size}",
        rf"\setlength{{\tabcolsep}}{{{COLUMN_GAP / 2:g}pt}}",
        *numbers.setup,
        # The types of the columns begin the table.
        rf"\begin{{tabular}}{{@{{}}l{''.join(map(numbers.column, layout.shapes))}@{{}}}}",
        r"\toprule",
        *(stacked if layout.stacked else side_by_side)(layout),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\end{{{place}}}",
        "",
    ]
    return "\n".join(lines)


def side_by_side(layout: Layout) -> Iterator[str]:
    """A group of columns for each metric."""
    count = len(layout.column_labels)
    groups = [rf"\multicolumn{{{count}}}{{c}}{{{title(block)}}}" for block in layout.blocks]
    yield " & ".join(["", *groups]) + r" \\"
    starts = [2 + count * place for place in range(len(layout.blocks))]
    yield "".join(rf"\cmidrule(lr){{{start}-{start + count - 1}}}" for start in starts)
    yield header_row(layout, len(layout.blocks))
    yield r"\midrule"
    for place, row_label in enumerate(layout.row_labels):
        cells = [cell for block in layout.blocks for cell in block.rows[place]]
        yield row(row_label, cells, layout.shapes, layout.numbers)


def stacked(layout: Layout) -> Iterator[str]:
    """A group of rows for each metric."""
    count = len(layout.column_labels)
    yield header_row(layout, 1)
    for block in layout.blocks:
        yield r"\midrule"
        yield rf"\multicolumn{{{count + 1}}}{{@{{}}l}}{{\textit{{{title(block)}}}}} \\"
        for row_label, cells in zip(layout.row_labels, block.rows, strict=True):
            yield row(row_label, cells, layout.shapes, layout.numbers)


def header_row(layout: Layout, times: int) -> str:
    """The row of centred column labels."""
    names = [rf"\multicolumn{{1}}{{c}}{{{escaped(head)}}}" for head in layout.column_labels] * times
    return " & ".join([layout.corner, *names]) + r" \\"


def title(block: MetricBlock) -> str:
    """The name of a metric, with an arrow in the direction of better values."""
    return f"{escaped(block.title)} {ARROWS[block.metric.better]}"


def row(
    row_label: str,
    cells: Sequence[PrintedCell],
    shapes: Sequence[ColumnShape],
    numbers: NumberFormat,
) -> str:
    """One row of the table."""
    scores = map(numbers.score, cells, shapes)
    return " & ".join([escaped(row_label), *scores]) + r" \\"


def caption(table: PaperTable) -> str:
    """The caption: metrics, statistics, meaning of bold, and published sources."""
    kinds = [
        f"{name_in_sentence(metric, name)} ({UNITS[metric.unit]})"
        for metric, name in table.metrics.items()
    ]
    parts = [f"Test {join_words(kinds)}: {describe_statistic(table.splits)}."]
    if table.has_comparison:
        parts.append(BOLD_RULE)
    if table.has_marks:
        parts.append(
            f"$^+$ and $^-$: significantly better or worse than {table.mine} by the same test, "
            f"corrected over all comparisons with {table.mine}; no mark: no significant difference."
        )
    if table.without_mine:
        where = join_words(table.without_mine)
        parts.append(f"There is no comparison with {table.mine} on {where}.")
    if any(one.published for one in table.entries):
        sources = f" ({'; '.join(table.sources)})" if table.sources else ""
        parts.append(f"† Published values{sources}, not included in the tests.")
    if table.untested:
        parts.append(f"{NOT_TESTED} Not tested, and never bold: {join_words(table.untested)}.")
    if table.diverged_runs:
        parts.append(
            f"Diverged splits are excluded from the means: {join_words(table.diverged_runs)}. "
            "Of two methods, one that alone diverged on a split counts as significantly worse."
        )
    return escaped(" ".join(parts))
