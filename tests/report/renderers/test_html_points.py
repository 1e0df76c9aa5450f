"""Points in the HTML page: places in per cent, escaped names, and the data for the script."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from bnnbench.report.figures.points import Panel, Point, PointsBlock
from bnnbench.report.renderers import html
from bnnbench.report.renderers.html import panel_item, script_data

EVIL = "</script><b>"
POINTS = (
    Point(EVIL, 1.0, 0.5),
    Point(EVIL, 1.2, 0.1, filled=False, source="Khan et al. 2018"),
    Point("open", 2.0, 0.5, filled=False),
    Point("lost", math.nan),
)
PANEL = Panel("boston", POINTS, 1.0, ((EVIL, "open", -1.0, 0.123456, True),))
BLOCK = PointsBlock("rmse", "Caption", Figure, (PANEL,), falling=True)


def test_marks_lie_between_the_ends_of_the_axis() -> None:
    item = panel_item(PANEL)
    low, high = PANEL.limits
    assert (low, high) == pytest.approx((0.4, 2.6))
    ours, theirs = item["lines"][0]["marks"]
    assert ours["place"] == pytest.approx(100 * 0.6 / 2.2, abs=0.01)
    assert ours["left"] == pytest.approx(100 * 0.1 / 2.2, abs=0.01)
    assert ours["width"] == pytest.approx(100 / 2.2, abs=0.01)
    assert (ours["kind"], theirs["kind"]) == ("filled", "published")
    assert item["lines"][1]["marks"][0]["kind"] == "open"
    assert [line["value"] for line in item["lines"]] == ["1.00 ± 0.50", "2.00 ± 0.50", "diverged"]
    assert [text for _, text in item["ticks"]] == ["0.6", "1.2", "1.8", "2.4"]
    far = panel_item(Panel("boston", (*POINTS[::2], Point("far", 1e6)), 1.0))
    (mark,) = far["lines"][-1]["marks"]
    assert mark["kind"] == "filled above" and mark["place"] == 100


def test_names_are_escaped_in_tables_and_data() -> None:
    page = html.page("All", [BLOCK], {})
    assert EVIL not in page
    (text,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    found = json.loads(text)["differences"]
    assert found == {
        "rmse": {"falling": True, "panels": [[[EVIL, "open", -1, -1.1235, -0.87654, 1]]]}
    }
    assert found == json.loads(json.dumps({"rmse": script_data(BLOCK)}))


@pytest.mark.parametrize("error", [0.2999999, 0.3000001])
def test_rounded_ends_of_an_interval_stay_on_their_side_of_zero(error: float) -> None:
    """The width, rounded to as many digits, would end at zero."""
    panel = replace(PANEL, differences=(("a", "b", 0.3, error, True),))
    ((_, _, _, low, high, _),) = script_data(replace(BLOCK, panels=(panel,)))["panels"][0]
    assert (low > 0) == (error < 0.3) and low != 0 and high == 0.6
