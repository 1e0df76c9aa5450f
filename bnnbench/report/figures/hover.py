"""What a browser shows of a figure where the pointer rests on a bar or a point: its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import compress

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

MOST_POINTS = 400
"""Of one line or cloud: of more nobody asks for the numbers of one."""

TOLD = "_told "
"""Begins a label that no legend lists, as matplotlib's own do: names of points, one a line."""

Texts = dict[str, list[str]]
"""By the id of an element of the figure, the texts of the marks in it, in their order."""


def told(names: Iterable[str]) -> str:
    """The label of a line or cloud whose points have names, which are shown on hover only."""
    return TOLD + "\n".join(names)


def name_marks(figure: Figure) -> Texts:
    """Gives ids to everything in a figure that stands for numbers.

    Args:
        figure: laid out and drawn once, so that its ticks are known.

    Returns:
        What is to be said of the marks of each.
    """
    found: Texts = {}
    for axes in figure.axes:
        for artist, texts in _marks(axes):
            key = f"mark-{len(found)}"
            artist.set_gid(key)
            found[key] = texts
    return found


def _marks(axes: Axes) -> Iterator[tuple[Artist, list[str]]]:
    for container in axes.containers:
        if isinstance(container, BarContainer):
            lying = container.orientation == "horizontal"
            for bar in container.patches:
                x, y = bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height() / 2
                place = (bar.get_width(), y) if lying else (x, bar.get_height())
                yield bar, [_said(axes, *place, "")]
    caps = {
        cap
        for container in axes.containers
        if isinstance(container, ErrorbarContainer)
        for cap in container.lines[1]
    }
    for line in axes.lines:
        if line in caps:
            continue
        if line.get_marker() not in ("None", "none", "", " ", None):
            points = np.column_stack([np.asarray(line.get_xdata()), np.asarray(line.get_ydata())])
            yield from _cloud(axes, line, points)
        elif _label(line):
            yield line, [_label(line)]
    for cloud in axes.collections:
        if isinstance(cloud, PathCollection):
            yield from _cloud(axes, cloud, np.asarray(cloud.get_offsets(), float))


def _cloud(
    axes: Axes, artist: Line2D | PathCollection, points: np.ndarray
) -> Iterator[tuple[Artist, list[str]]]:
    label = str(artist.get_label())
    own = label.startswith(TOLD)
    names = label.removeprefix(TOLD).split("\n") if own else [_label(artist)] * len(points)
    there = np.isfinite(points.astype(float)).all(1)
    if 0 < there.sum() <= MOST_POINTS:
        marks = zip(points[there].tolist(), compress(names, there), strict=True)
        yield artist, [_said(axes, x, y, name) for (x, y), name in marks]


def _label(artist: Artist) -> str:
    """The artist's name; none where matplotlib made it up."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _said(axes: Axes, x: float, y: float, name: str) -> str:
    """`boston, vadam: 3.68` where one axis has names, else `name: x, y`."""
    first, second = _named(axes.xaxis, x), _named(axes.yaxis, y)
    words = [axes.get_title(), name, *(word for word in (first, second) if word)]
    values = [f"{v:.4g}" for v, word in ((x, first), (y, second)) if not word]
    return ": ".join(part for part in (", ".join(filter(None, words)), ", ".join(values)) if part)


def _named(axis: Axis, value: float) -> str:
    """The name that stands at a place of an axis of names; none on an axis of numbers."""
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return ""
    names = [label.get_text().replace("\n", " ") for label in axis.get_ticklabels()]
    places = np.asarray(axis.get_ticklocs(), dtype=np.float64)
    if len(places) != len(names) or not any(re.search("[A-Za-z]", name) for name in names):
        return ""
    return names[int(np.abs(places - value).argmin())]
