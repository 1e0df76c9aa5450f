"""Figures over many runs: panels, lines and names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.grids import make_grid
from support.runs import divergence_metadata
from support.synthetic_data import calibrated, curve

from bnnbench.report.sections.curves import curves_figure
from bnnbench.report.sections.divergence_orders import divergence_orders_figure, with_orders
from bnnbench.report.sections.interval_coverage import interval_coverage_figure
from bnnbench.report.sections.objective import objectives_figure
from bnnbench.report.sections.spread import (
    limits,
    losses_by_split,
    spread_figure,
)
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_tables import read_runs


def test_each_family_and_kl_have_a_line(tmp_path: Path) -> None:
    for order, mean in ((0.5, 5), (2, 3), (3, 4)):
        kind = divergence_metadata("alpha", order)
        make_grid(tmp_path, {kind["divergence"]: mean}, **kind)
    make_grid(tmp_path, {"kl": 4.5}, experiment="other")
    table = read_runs(tmp_path).scored
    axes = divergence_orders_figure(with_orders(table), table).axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["kl"].get_ydata()[0] == pytest.approx(4.5)
    assert axes.containers[0].lines[0].get_ydata().tolist() == pytest.approx([5, 3, 4])
    alone = table[table["divergence"] != "kl"]
    assert "kl" not in {
        x.get_label() for x in divergence_orders_figure(with_orders(alone), alone).axes[0].lines
    }


def test_spread_has_panels_by_depth_and_data_set(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5, "js": 3})
    make_grid(tmp_path, {"kl": 6}, depth=2)
    figure = spread_figure(losses_by_split(read_runs(tmp_path)), BY_KEY["rmse"])
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["boston · depth 1", "boston · depth 2"]
    names = [[name.get_text() for name in axes.get_yticklabels()] for axes in figure.axes]
    assert names == [["bbb, js", "bbb, kl"], ["", ""]]


def test_spread_at_one_depth_has_data_sets_in_a_row(tmp_path: Path) -> None:
    for dataset in ("boston", "yacht"):
        make_grid(tmp_path, {"kl": 5, "js": 3}, dataset=dataset)
    panels = spread_figure(losses_by_split(read_runs(tmp_path)), BY_KEY["rmse"]).axes
    left, right = (axes.get_position() for axes in panels)
    assert left.y0 == right.y0 and left.x1 < right.x0
    assert not any(name.get_text() for name in panels[1].get_yticklabels())


def test_limits_exclude_extreme_splits_but_never_the_best() -> None:
    values = [np.array([2.4, 2.5, 2.6]), np.array([2.5, 2.5, 900.0]), np.array([1.0, 1.1, 1.2])]
    low, high = limits(values)
    assert low < 1.0 and 2.6 < high < 900


def test_curves_have_panels_by_method_and_data_set() -> None:
    figure = curves_figure([curve("a", "small"), curve("b", "small"), curve("b", "large")])
    shown = [axes.get_title() for axes in figure.axes if axes.get_visible()]
    assert shown == ["a · small", "b · small", "b · large"] and len(figure.axes) == 4


def test_depths_are_columns_of_panels() -> None:
    curves = [curve("a"), curve("b"), curve("a", depth="2")]
    shown = [axes.get_title() for axes in curves_figure(curves).axes if axes.get_visible()]
    assert shown == ["a · toy · depth -", "a · toy · depth 2", "b · toy · depth -"]


def test_interval_coverage_of_a_calibrated_run_is_that_of_a_gaussian() -> None:
    figure = interval_coverage_figure(
        [calibrated(1.0, label="honest"), calibrated(0.5, label="sure", depth=2)]
    )
    assert [axes.get_title() for axes in figure.axes] == ["toy · depth -", "toy · depth 2"]
    (gaussian, honest, _) = figure.axes[0].lines
    np.testing.assert_allclose(honest.get_ydata(), gaussian.get_ydata(), atol=0.02)


def test_objectives_have_panels_by_depth_and_data_set() -> None:
    rows = [
        {"run": f"{label}{depth}", "dataset": "boston", "depth": depth, "label": label,
         "epoch": epoch, "objective": -epoch}
        for label, depth in (("a", 1), ("b", 1), ("a", 2))
        for epoch in (1, 2)
    ]  # fmt: skip
    first, second = objectives_figure(pd.DataFrame(rows)).axes
    assert [line.get_label() for line in first.lines] == ["a", "b"]
    assert second.lines[0].get_color() == first.lines[0].get_color()
    assert first.get_yscale() == "symlog"


def test_objective_panels_without_runs_are_hidden() -> None:
    rows = [
        {"run": f"{data}{depth}", "dataset": data, "depth": depth, "label": "a", "epoch": epoch,
         "objective": np.nan}
        for data, depth in (("boston", 1), ("yacht", 2))
        for epoch in (1, 2)
    ]  # fmt: skip
    panels = objectives_figure(pd.DataFrame(rows)).axes
    assert [axes.get_visible() for axes in panels] == [True, False, False, True]


def test_spread_panels_without_runs_are_empty(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5, "js": 3})
    make_grid(tmp_path, {"kl": 6, "js": 4}, depth=2, dataset="yacht")
    panels = spread_figure(losses_by_split(read_runs(tmp_path)), BY_KEY["rmse"]).axes
    assert [bool(axes.lines) for axes in panels] == [True, False, False, True]
