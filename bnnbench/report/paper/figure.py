"""The scores of a paper's table as points: a panel for each data set, a line for each method."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.ticker import MaxNLocator

from bnnbench.report.figures.canvas import PALETTE, inches, sketch
from bnnbench.report.paper.contents import Contender, PaperTable, spoken
from bnnbench.report.section import ERRORS
from bnnbench.results.metrics import Metric

COLUMN, PAGE = 3.3, 6.9
"""Inches of a column, and of the two of a page."""

IN_COLUMN, IN_ROW = 2, 5
"""Panels that a column has room for, and a page side by side."""

BESIDE = 0.12
"""Inches between two panels, or two numbers."""

LETTERS = 7.5
"""Points: not smaller than a caption's when printed as it is."""


def points_figure(table: PaperTable, metric: Metric, error: str = "stderr") -> Figure:
    """Means and errors over splits; what is bold in the table is filled.

    Args:
        table: the contents.
        metric: one of its own.
        error: a key of `ERRORS`.
    """
    count, lines = len(table.datasets), len(table.contenders)
    rows = math.ceil(count / (IN_COLUMN if count <= IN_COLUMN else IN_ROW))
    columns = math.ceil(count / rows)
    size = (COLUMN if count <= IN_COLUMN else PAGE, 0.4 + rows * (0.4 + 0.16 * lines))
    figure, panels = sketch(*size, columns, rows)
    longest = max(inches(one.name, LETTERS) for one in table.contenders)
    for place, (axes, dataset) in enumerate(zip(panels, table.datasets, strict=False)):
        _panel(axes, table, dataset, metric, error)
        _tick(axes, (size[0] - longest) / columns - BESIDE)
        _write(axes.set_title, table.datasets[dataset])
        names = [one.name for one in table.contenders] if place % columns == 0 else [""] * lines
        axes.set_yticks(range(lines), names, fontsize=LETTERS)
        for label in axes.get_yticklabels():
            label.set_parse_math(is_math(label.get_text()))
    for axes in panels[count:]:
        axes.set_axis_off()
    unit = {"target": "original units", "nats": "nats", "s": "s"}[metric.unit]
    name = spoken(metric, table.metrics[metric])
    _write(figure.supxlabel, f"test {name} [{unit}], mean ± {ERRORS[error]}")
    return figure


def _panel(axes: Axes, table: PaperTable, dataset: str, metric: Metric, error: str) -> None:
    for line, one in enumerate(table.contenders):
        cell = table.cells.get((dataset, one.key, metric.key))
        if cell is None or not math.isfinite(cell.mean):
            continue
        spread = cell.stderr if error == "stderr" else cell.std
        colour = colour_of(table, one)
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
    axes.set_ylim(len(table.contenders) - 0.4, -0.6)  # the first on top
    axes.tick_params(labelsize=LETTERS, length=2)
    axes.grid(axis="x", linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)


def _tick(axes: Axes, room: float) -> None:
    """As many numbers below a panel, up to four, as have room side by side, inches."""
    low, high = axes.get_xlim()
    for intervals in (3, 2, 1):
        axes.xaxis.set_major_locator(MaxNLocator(intervals))
        places = [place for place in axes.get_xticks() if low <= place <= high]
        shown = axes.xaxis.get_major_formatter().format_ticks(places)
        if sum(inches(text, LETTERS) + BESIDE for text in shown) <= room:
            return


def colour_of(table: PaperTable, one: Contender) -> str:
    """Of a contender, the same in every panel; published ones are black."""
    own = [other for other in table.contenders if not other.published]
    return "black" if one.published else PALETTE[own.index(one) % len(PALETTE)]


def _write(write: object, text: str) -> None:
    """Words of the user's: a `$` may be a currency, or begin a formula."""
    write(text, fontsize=LETTERS, parse_math=is_math(text))  # type: ignore[operator]


def is_math(text: str) -> bool:
    """Whether a text has a formula that can be drawn."""
    if text.count("$") < 2:
        return False
    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return False
    return True
