"""Panels of points as HTML tables whose markers are positioned by style sheets.

Text keeps its size on every screen and wraps. `templates/page.js` redraws the panels of differences
when the reader picks a baseline.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from bnnbench.report.points import Panel, Point, PointsBlock

DIGITS = 5
"""Significant digits of the numbers for the script, more than a screen can resolve."""


def panel_item(panel: Panel) -> dict[str, Any]:
    """The contents of a panel for the template: its lines, ticks and centre."""
    low, high = panel.limits
    ticks = [v for v in map(float, MaxNLocator(4).tick_values(low, high)) if low <= v <= high]
    return {
        "title": panel.title,
        "lines": [
            _line([p for p in panel.points if p.name == name], panel) for name in panel.names
        ],
        "ticks": [(_percent(value, panel), f"{value:.4g}") for value in ticks],
        "centre": _percent(panel.centre, panel) if math.isfinite(panel.centre) else None,
    }


def _line(points: list[Point], panel: Panel) -> dict[str, Any]:
    own = points[0]
    marks = [_mark(point, panel) for point in points if math.isfinite(point.value)]
    return {"name": own.name, "value": panel.text(own), "marks": marks}


def _mark(point: Point, panel: Panel) -> dict[str, Any]:
    low, high = panel.limits
    error = point.error if math.isfinite(point.error) else 0.0
    left, right = (
        _percent(np.clip(point.value + side * error, low, high), panel) for side in (-1, 1)
    )
    kind = "published" if point.source else ("filled" if point.filled else "open")
    if not low <= point.value <= high:
        kind += " below" if point.value < low else " above"
    return {
        "kind": kind,
        "place": _percent(np.clip(point.value, low, high), panel),
        "left": left,
        "width": round(right - left, 2),
        "title": f"{panel.text(point)}, {point.source}" if point.source else "",
    }


def _percent(value: float, panel: Panel) -> float:
    low, high = panel.limits
    return round(100 * (float(value) - low) / (high - low), 2)


def script_data(block: PointsBlock) -> dict[str, Any]:
    """The differences to each baseline that the reader can pick."""
    return {"falling": block.falling, "panels": [list(_rows(panel)) for panel in block.panels]}


def _rows(panel: Panel) -> Iterator[tuple[str, str, float, float, float, int]]:
    """Yield name, baseline, difference, both ends of its interval, and whether it is significant.

    Rounded ends, unlike a rounded width, are on the same side of zero.
    """
    for a, b, difference, error, decided in panel.differences:
        numbers = difference, difference - error, difference + error
        value, low, high = (float(f"{number:.{DIGITS}g}") for number in numbers)
        yield a, b, value, low, high, int(decided)
