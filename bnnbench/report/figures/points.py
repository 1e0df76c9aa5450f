"""Values with intervals as points, one panel per data set: contents, and figures of them.

Figures are drawn here for a screen or a paper; `renderers/html.py` draws the panels for the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bnnbench.notes import with_interval
from bnnbench.report.blocks import FigureBlock, even_chunks, numbered_name, plus_minus, with_std
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    MAX_WIDTH,
    SMALL_POINTS,
    PlotOptions,
    is_math,
    text_width,
    wrap_text,
)

MAX_LINES = 24
"""Maximum number of lines of a panel. Further runs are in the tables only."""

MAX_DISTANCE = 5.0
"""Range of the axis around the centre, in units of `median distance + median error`."""

Difference = tuple[str, str, float, float, bool]
"""A name, that of the baseline, the difference of their scores, half the width of its interval, and
whether it is significant among all differences to this baseline."""


@dataclass(frozen=True)
class Point:
    """A value and its interval.

    Attributes:
        name: the line of the panel on which it is drawn.
        value: NaN if there is none.
        error: half the width of the interval; NaN if it is unknown.
        filled: whether its marker is filled.
        source: the publication of a published value, drawn as a diamond; empty for our own.
        mark: printed next to its marker.
    """

    name: str
    value: float
    error: float = math.nan
    filled: bool = True
    source: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Panel:
    """The points of one data set, in the order of their lines.

    Attributes:
        title: the data set.
        points: from top to bottom. Points with the same name share a line.
        centre: where a vertical line is drawn: the best score, or zero.
        differences: between all names, from which the page takes those to any baseline.
        errors: what the errors of its points are: `stderr`, `std`, or `interval`.
    """

    title: str
    points: tuple[Point, ...]
    centre: float = math.nan
    differences: tuple[Difference, ...] = ()
    errors: str = "stderr"

    def text(self, point: Point) -> str:
        """Return the printed value of a point."""
        if math.isnan(point.value):
            return "diverged"
        if self.errors != "interval":
            write = with_std if self.errors == "std" else plus_minus
            return write(point.value, point.error)
        if math.isnan(point.error):  # the baseline
            return "0"
        return with_interval(point.value, point.value - point.error, point.value + point.error)

    @property
    def names(self) -> list[str]:
        """The lines from top to bottom."""
        return list(dict.fromkeys(point.name for point in self.points))

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the axis, which contains all intervals.

        Values far from the centre are beyond its ends if the others would otherwise coincide.
        """
        values = np.array([(one.value, one.error) for one in self.points if one.value == one.value])
        if not len(values):
            return -1.0, 1.0
        errors = np.nan_to_num(values[:, 1])
        low, high = (values[:, 0] - errors).min(), (values[:, 0] + errors).max()
        own = np.array([not one.source for one in self.points if one.value == one.value])
        if own.any() and math.isfinite(self.centre):
            low, high = min(low, self.centre), max(high, self.centre)
            distance = np.abs(values[own, 0] - self.centre)
            reach = MAX_DISTANCE * (np.median(distance) + np.median(errors[own]))
            if reach > 0:
                low, high = max(low, self.centre - reach), min(high, self.centre + reach)
        margin = 0.05 * (high - low) or 0.1 * abs(high) or 1.0
        return float(low - margin), float(high + margin)


@dataclass(frozen=True)
class PointsBlock(FigureBlock):
    """A figure of points, which a page draws from its numbers.

    Attributes:
        panels: its panels.
        falling: whether lower values are better.
    """

    panels: tuple[Panel, ...] = ()
    falling: bool = True


MAX_PANELS = 12
"""Panels in one figure. Further ones are drawn in further figures."""

SPACING = 0.12
"""Inches between two panels, or two tick labels."""

SHIFT = 0.3
"""Lines between two points of the same name."""

MAX_NAME_WIDTH = 2.4
"""Inches available for a name; longer names are wrapped."""

BEYOND = "; triangles: values beyond the panel"
"""What is added to the caption of a figure that has such values."""

STRIP_WIDTH = 2.0
"""Inches between the limits of a panel on a screen."""


@dataclass(frozen=True)
class Form:
    """How a figure is laid out.

    Attributes:
        columns: maximum number of panels in a row.
        width: of the figure in inches; None for as much as its panels need.
        points: font size.
        values: whether to print the numbers at the right of each panel.
    """

    columns: int = 3
    width: float | None = None
    points: float = SMALL_POINTS
    values: bool = True


def points_blocks(
    name: str, caption: str, panels: Sequence[Panel], axis: str, falling: bool
) -> list[PointsBlock]:
    """Figures with at most `MAX_PANELS` panels each.

    Args:
        name: of the first figure.
        caption: explains points, intervals and markers.
        panels: the panels of all figures.
        axis: the label of their axes.
        falling: whether lower values are better.
    """
    return [
        PointsBlock(
            numbered_name(name, number),
            caption + BEYOND * any(map(_has_points_beyond, chunk)),
            partial(points_figure, chunk, axis),
            tuple(chunk),
            falling,
        )
        for number, chunk in enumerate(even_chunks(panels, MAX_PANELS), 1)
    ]


def _has_points_beyond(panel: Panel) -> bool:
    low, high = panel.limits
    return any(value < low or value > high for value in (point.value for point in panel.points))


def points_figure(panels: Sequence[Panel], axis: str, form: Form = Form()) -> Figure:
    """Draw panels in rows. If all have the same lines, only the first of a row prints the names.

    `axis` labels the axis that all panels share.
    """
    shared = len({tuple(panel.names) for panel in panels}) == 1 and not form.values
    names = {name: wrap_text(name, MAX_NAME_WIDTH, form.points) for p in panels for name in p.names}
    height = 0.02 * form.points * max(name.count("\n") + 1 for name in names.values())
    longest = max(text_width(line, form.points) for n in names.values() for line in n.split("\n"))
    texts = [panel.text(point) for panel in panels for point in panel.points if not point.source]
    numbers = max(text_width(text, form.points) for text in texts) if form.values else 0.0
    fitting = int((MAX_WIDTH - SPACING) / (longest + STRIP_WIDTH + numbers))
    most = form.columns if form.width else min(form.columns, max(1, fitting))
    rows = math.ceil(len(panels) / most)
    columns = math.ceil(len(panels) / rows)
    lines = [
        max(len(panel.names) for panel in panels[row * columns : (row + 1) * columns])
        for row in range(rows)
    ]
    room = longest * (1 if shared else columns)
    width = form.width or room + columns * (STRIP_WIDTH + numbers) + SPACING
    size = width, 0.45 + sum(0.45 + height * count for count in lines)
    figure = Figure(size, layout="constrained")
    grid = figure.subplots(
        rows, columns, squeeze=False, gridspec_kw={"height_ratios": [n + 1 for n in lines]}
    )
    strip = (width - room) / columns - numbers - SPACING
    for place, axes in enumerate(grid.ravel()):
        if place >= len(panels):
            axes.set_axis_off()
            continue
        panel = panels[place]
        _panel(axes, panel, form)
        _tick(axes, strip, form.points)
        heading = wrap_text(panel.title, max(strip, 1.0), form.points)
        axes.set_title(heading, fontsize=form.points, parse_math=is_math(heading))
        texts = [names[name] if not shared or place % columns == 0 else "" for name in panel.names]
        axes.set_yticks(range(len(texts)), texts, fontsize=form.points)
        for label in axes.get_yticklabels():
            label.set_parse_math(is_math(label.get_text()))
        axes.set_ylim(lines[place // columns] - 0.4, -0.6)  # the first on top
    figure.supxlabel(
        wrap_text(axis, width - SPACING, form.points),
        fontsize=form.points,
        parse_math=is_math(axis),
    )
    return figure


def _panel(axes: Axes, panel: Panel, form: Form) -> None:
    low, high = panel.limits
    axes.set_xlim(low, high)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(labelsize=form.points, length=2)
    axes.tick_params(axis="y", length=0)
    axes.grid(linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)
    if math.isfinite(panel.centre):
        axes.axvline(panel.centre, color=GREY, linewidth=0.7, zorder=1)
    lines = {name: float(line) for line, name in enumerate(panel.names)}
    drawn: set[str] = set()
    for point in panel.points:
        if math.isfinite(point.value):
            shift = SHIFT if point.name in drawn else 0.0
            _point(axes, point, lines[point.name] + shift, (low, high), form.points)
        drawn.add(point.name)
        if form.values and not point.source:
            place = axes.get_yaxis_transform()
            axes.text(1.03, lines[point.name], panel.text(point), transform=place, va="center",
                      fontsize=form.points, color=GREY)  # fmt: skip


def _point(
    axes: Axes, point: Point, line: float, limits: tuple[float, float], points: float
) -> None:
    """Draw a point and its interval, or an arrow at the end of the axis that it is beyond.

    `points` is the font size of its mark.
    """
    colour = "black" if point.source else BLUE
    place = float(np.clip(point.value, *limits))
    beyond = place != point.value
    marker = ("<" if place == limits[0] else ">") if beyond else ("D" if point.source else "o")
    style: PlotOptions = {"color": colour, "elinewidth": 0.9, "capsize": 1.8, "markersize": 4}
    axes.errorbar(
        place,
        line,
        xerr=point.error if math.isfinite(point.error) and not beyond else None,
        fmt=marker,
        markerfacecolor=colour if point.filled else "white",
        clip_on=not beyond,
        **style,
    )
    if point.mark:
        axes.annotate(point.mark, (place, line), (3, 1), textcoords="offset points",
                      fontsize=points)  # fmt: skip


def _tick(axes: Axes, room: float, points: float) -> None:
    """Set up to four ticks, as many as fit a width in inches without overlap."""
    low, high = axes.get_xlim()
    for intervals in (3, 2, 1):
        axes.xaxis.set_major_locator(MaxNLocator(intervals))
        places = [place for place in axes.get_xticks() if low <= place <= high]
        shown = axes.xaxis.get_major_formatter().format_ticks(places)
        if sum(text_width(text, points) + SPACING for text in shown) <= room:
            return
