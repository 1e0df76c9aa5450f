"""The axis of a panel of points."""

from __future__ import annotations

import math

import pytest

from bnnbench.report.figures.points import Panel, Point


def panel(*values: float, error: float = 0.1, centre: float = 1.0) -> Panel:
    points = (Point(str(k), value, error) for k, value in enumerate(values))
    return Panel("boston", tuple(points), centre)


def test_the_axis_contains_all_intervals_and_little_else() -> None:
    low, high = panel(1.0, 1.2, math.nan).limits
    assert low == pytest.approx(0.9 - 0.02) and high == pytest.approx(1.3 + 0.02)


def test_a_value_far_away_does_not_hide_the_differences_between_the_others() -> None:
    low, high = panel(1.0, 1.2, 1.3, 1e6).limits
    assert low < 0.9 and 1.4 < high < 3


@pytest.mark.parametrize("values", [(), (math.nan,), (1.0,), (1.0, 1.0)])
def test_an_axis_has_a_length(values: tuple[float, ...]) -> None:
    low, high = panel(*values, error=math.nan).limits
    assert low < high


def test_published_values_extend_the_axis() -> None:
    theirs = Point("0", 1.6, 0.2, source="Somebody 1990")
    points = (*panel(1.0, 1.2).points, theirs)
    assert Panel("boston", points, 1.0).limits[1] > 1.6
    assert Panel("boston", points, 1.0).names == ["0", "1"]
