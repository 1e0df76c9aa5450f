"""Figures of points: order, intervals, markers and panels."""

from __future__ import annotations

import math

import pytest
from matplotlib.container import ErrorbarContainer

from bnnbench.report.figures.points import (
    MAX_PANELS,
    SHIFT,
    Form,
    Panel,
    Point,
    points_blocks,
    points_figure,
)

POINTS = (
    Point("vadam", 2.0, 0.5),
    Point("vadam", 2.2, 0.4, filled=False, source="Khan et al. 2018"),
    Point("pbp", 2.5, math.nan, filled=False),
    Point("lost", math.nan),
    Point("far", 400.0, 1.0),
)


def test_points_are_drawn_from_top_to_bottom_with_their_intervals() -> None:
    (axes,) = points_figure([Panel("boston", POINTS, 2.0)], "test RMSE").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["vadam", "pbp", "lost", "far"]
    assert axes.yaxis_inverted()
    drawn = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    assert [float(one.lines[0].get_ydata()[0]) for one in drawn] == [0, SHIFT, 1, 3]
    (low, _), (high, _) = drawn[0].lines[2][0].get_segments()[0]
    assert (low, high) == (1.5, 2.5) and not drawn[2].has_xerr
    fills = [one.lines[0].get_markerfacecolor() for one in drawn]
    assert fills[1] == fills[2] == "white" != fills[0]
    assert [one.lines[0].get_marker() for one in drawn] == ["o", "D", "o", ">"]
    shown = [text.get_text() for text in axes.texts]
    assert shown == ["2.00 ± 0.50", "2.5", "diverged", "400.0 ± 1.0"]


def test_panels_with_their_own_order_print_their_own_names() -> None:
    panels = [Panel("boston", POINTS[:3]), Panel("yacht", POINTS[2::-1])]
    first, second = points_figure(panels, "test RMSE").axes
    names = [[label.get_text() for label in axes.get_yticklabels()] for axes in (first, second)]
    assert names == [["vadam", "pbp"], ["pbp", "vadam"]]
    same = points_figure([panels[0], panels[0]], "test RMSE", Form(values=False)).axes
    assert [label.get_text() for label in same[1].get_yticklabels()] == ["", ""]
    assert not same[0].texts


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (MAX_PANELS, [12]), (13, [6, 7])])
def test_many_panels_are_divided_among_figures(count: int, sizes: list[int]) -> None:
    panels = [Panel(f"set_{k}", POINTS) for k in range(count)]
    made = points_blocks("rmse", "caption", panels, "test RMSE", falling=True)
    assert [len(one.panels) for one in made] == sizes
    assert [one.name for one in made] == ["rmse", "rmse_2"][: len(sizes)]


def test_a_caption_explains_triangles_if_there_are_any() -> None:
    panels = [Panel("boston", POINTS[:4])] * MAX_PANELS + [Panel("yacht", POINTS, 2.0)] * MAX_PANELS
    inside, beyond = points_blocks("rmse", "caption", panels, "test RMSE", falling=True)
    assert "triangles" not in inside.caption and "triangles" in beyond.caption
