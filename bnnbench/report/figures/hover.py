"""Hover texts of figures in the HTML report: the numbers behind bars and points."""

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

MAX_POINTS = 400
"""Lines and clouds with more points get no hover texts."""

HOVER_PREFIX = "_told "
"""Prefix of labels that hold point names, one per line. Legends skip labels that begin with _."""

Texts = dict[str, list[str]]
"""Texts of the marks in each element of a figure, by element id."""


def hover_label(names: Iterable[str]) -> str:
    """The label of a line or cloud whose point names are shown on hover only."""
    return HOVER_PREFIX + "\n".join(names)


def name_marks(figure: Figure) -> Texts:
    """Assign ids to all elements of a figure that represent numbers.

    Args:
        figure: drawn once before, so that its ticks are known.

    Returns:
        The hover texts of each element.
    """
    texts_by_id: Texts = {}
    for axes in figure.axes:
        for artist, texts in _marks(axes):
            key = f"mark-{len(texts_by_id)}"
            artist.set_gid(key)
            texts_by_id[key] = texts
    return texts_by_id


def _marks(axes: Axes) -> Iterator[tuple[Artist, list[str]]]:
    for container in axes.containers:
        if isinstance(container, BarContainer):
            horizontal = container.orientation == "horizontal"
            for bar in container.patches:
                x, y = bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height() / 2
                place = (bar.get_width(), y) if horizontal else (x, bar.get_height())
                yield bar, [_hover_text(axes, *place, "")]
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
            yield from _point_texts(axes, line, points)
        elif _label(line):
            yield line, [_label(line)]
    for cloud in axes.collections:
        if isinstance(cloud, PathCollection):
            yield from _point_texts(axes, cloud, np.asarray(cloud.get_offsets(), float))


def _point_texts(
    axes: Axes, artist: Line2D | PathCollection, points: np.ndarray
) -> Iterator[tuple[Artist, list[str]]]:
    label = str(artist.get_label())
    own = label.startswith(HOVER_PREFIX)
    names = label.removeprefix(HOVER_PREFIX).split("\n") if own else [_label(artist)] * len(points)
    there = np.isfinite(points.astype(float)).all(1)
    if 0 < there.sum() <= MAX_POINTS:
        marks = zip(points[there].tolist(), compress(names, there), strict=True)
        yield artist, [_hover_text(axes, x, y, name) for (x, y), name in marks]


def _label(artist: Artist) -> str:
    """The artist's label, or an empty string if matplotlib generated it."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _hover_text(axes: Axes, x: float, y: float, name: str) -> str:
    """`boston, vadam: 3.68` if an axis has names, else `name: x, y`."""
    first, second = _tick_name(axes.xaxis, x), _tick_name(axes.yaxis, y)
    words = [axes.get_title(), name, *(word for word in (first, second) if word)]
    values = [f"{v:.4g}" for v, word in ((x, first), (y, second)) if not word]
    return ": ".join(part for part in (", ".join(filter(None, words)), ", ".join(values)) if part)


def _tick_name(axis: Axis, value: float) -> str:
    """The tick label nearest to a value, or an empty string on a numeric axis."""
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return ""
    names = [label.get_text().replace("\n", " ") for label in axis.get_ticklabels()]
    places = np.asarray(axis.get_ticklocs(), dtype=np.float64)
    if len(places) != len(names) or not any(re.search("[A-Za-z]", name) for name in names):
        return ""
    return names[int(np.abs(places - value).argmin())]
