"""Point plots of the scores in a paper's table."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.ticker import MaxNLocator

from bnnbench.report.blocks import ERROR_BARS
from bnnbench.report.figures.plotting import PALETTE, new_figure, text_width
from bnnbench.report.paper.paper_table import PaperTable, TableEntry, name_in_sentence
from bnnbench.results.metrics import Metric

COLUMN_WIDTH, PAGE_WIDTH = 3.3, 6.9
"""Inches."""

PANELS_IN_COLUMN, PANELS_IN_ROW = 2, 5
"""Panels that fit next to each other."""

SPACING = 0.12
"""Inches between two panels, or two tick labels."""

FONT_POINTS = 7.5
"""Font size, at least that of a caption when the figure is printed unscaled."""


def points_figure(table: PaperTable, metric: Metric, error: str = "stderr") -> Figure:
    """Draw means and errors over splits. Markers are filled where the table is bold."""
    count, lines = len(table.datasets), len(table.entries)
    rows = math.ceil(count / (PANELS_IN_COLUMN if count <= PANELS_IN_COLUMN else PANELS_IN_ROW))
    columns = math.ceil(count / rows)
    size = (
        COLUMN_WIDTH if count <= PANELS_IN_COLUMN else PAGE_WIDTH,
        0.4 + rows * (0.4 + 0.16 * lines),
    )
    figure, panels = new_figure(*size, columns, rows)
    longest = max(text_width(one.name, FONT_POINTS) for one in table.entries)
    for place, (axes, dataset) in enumerate(zip(panels, table.datasets, strict=False)):
        _panel(axes, table, dataset, metric, error)
        _tick(axes, (size[0] - longest) / columns - SPACING)
        _write(axes.set_title, table.datasets[dataset])
        names = [one.name for one in table.entries] if place % columns == 0 else [""] * lines
        axes.set_yticks(range(lines), names, fontsize=FONT_POINTS)
        for label in axes.get_yticklabels():
            label.set_parse_math(is_math(label.get_text()))
    for axes in panels[count:]:
        axes.set_axis_off()
    unit = {"target": "original units", "nats": "nats", "s": "s"}[metric.unit]
    name = name_in_sentence(metric, table.metrics[metric])
    _write(figure.supxlabel, f"test {name} [{unit}], mean ± {ERROR_BARS[error]}")
    return figure


def _panel(axes: Axes, table: PaperTable, dataset: str, metric: Metric, error: str) -> None:
    for line, one in enumerate(table.entries):
        cell = table.cells.get((dataset, one.key, metric.key))
        if cell is None or not math.isfinite(cell.mean):
            continue
        spread = cell.stderr if error == "stderr" else cell.std
        colour = entry_colour(table, one)
        axes.errorbar(
            cell.mean,
            line,
            xerr=spread if math.isfinite(spread) else None,
            fmt="D" if one.published else "o",
            color=colour,
            markerfacecolor=colour if cell.best else "white",
            markersize=4,
            elinewidth=0.9,
            capsize=1.8,
        )
    axes.set_ylim(len(table.entries) - 0.4, -0.6)  # the first on top
    axes.tick_params(labelsize=FONT_POINTS, length=2)
    axes.grid(axis="x", linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)


def _tick(axes: Axes, room: float) -> None:
    """Set up to four ticks, as many as fit a width in inches without overlap."""
    low, high = axes.get_xlim()
    for intervals in (3, 2, 1):
        axes.xaxis.set_major_locator(MaxNLocator(intervals))
        places = [place for place in axes.get_xticks() if low <= place <= high]
        shown = axes.xaxis.get_major_formatter().format_ticks(places)
        if sum(text_width(text, FONT_POINTS) + SPACING for text in shown) <= room:
            return


def entry_colour(table: PaperTable, one: TableEntry) -> str:
    """The colour of an entry in all panels; published ones are black."""
    own = [other for other in table.entries if not other.published]
    return "black" if one.published else PALETTE[own.index(one) % len(PALETTE)]


def _write(write: object, text: str) -> None:
    """Write user-provided text, in which a `$` may be a currency sign or begin a formula."""
    write(text, fontsize=FONT_POINTS, parse_math=is_math(text))  # type: ignore[operator]


def is_math(text: str) -> bool:
    """Whether a text contains a formula that matplotlib can draw."""
    if text.count("$") < 2:
        return False
    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return False
    return True
