"""Panels of values with intervals: the contents of the figures of scores and of differences.

`figures/points.py` draws them for files, `renderers/html_points.py` for the page.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bnnbench.notes import with_interval
from bnnbench.report.blocks import FigureBlock, plus_minus, with_std

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
