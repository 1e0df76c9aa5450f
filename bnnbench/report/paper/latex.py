"""The table of a paper in LaTeX (booktabs)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bnnbench.notes import join_words, one_line
from bnnbench.report.blocks import describe_statistic
from bnnbench.report.paper.column_shape import ColumnShape, PrintedCell
from bnnbench.report.paper.latex_numbers import NumberFormat
from bnnbench.report.paper.latex_text import escaped
from bnnbench.report.paper.layout import (
    COLUMN_GAP,
    NOT_TESTED,
    Layout,
    MetricBlock,
)
from bnnbench.report.paper.paper_table import PaperTable, name_in_sentence
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS
from bnnbench.results.compare.significance import SIGNIFICANCE_LEVEL

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
