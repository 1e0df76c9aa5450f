"""Figures of one run, with known numbers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.runs import make_points, make_search, make_splits

from bnnbench.report.figures.split_run import (
    best_so_far,
    evenly_by_target,
    predictions_figure,
    reliability_figure,
    search_figure,
    splits_figure,
)
from bnnbench.report.sections.objective import objective_figure
from bnnbench.results.score.calibration import RECALIBRATION_NAMES

TARGET = "median value [1000 USD]"


def overconfident(seed: int) -> pd.DataFrame:
    """Standard Gaussian targets, predicted with a third of their standard deviation."""
    target = np.random.default_rng(seed).normal(size=2000)
    variances = {"epistemic_variance": 0.04, "noise_variance": 0.05}
    return pd.DataFrame({"split": 0, "target": target, "mean": 0.0, **variances})


def legend_title(figure: Figure) -> str:
    return figure.legends[0].get_title().get_text()


def test_diverged_splits_are_crosses() -> None:
    splits = make_splits(rmse=(3.0, 4.0, 5.0, math.nan), diverged=[0, 0, 0, 1])
    left, right = splits_figure(splits, TARGET).axes
    crosses = [line for line in left.lines if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [[3]]
    assert left.get_ylabel() == "test RMSE [1000 USD]"
    assert right.get_ylabel() == "test log-likelihood [nats]"


def test_predictions_name_the_target_and_skip_points_that_are_not_finite() -> None:
    points = pd.DataFrame(make_points())
    points.loc[0, "mean"] = math.nan
    axes = predictions_figure(points, TARGET).axes[0]
    assert axes.get_xlabel() == "observed median value [1000 USD]"
    assert len(axes.collections[0].get_offsets()) == len(points) - 1
    assert (
        legend_title(predictions_figure(points.iloc[:1], TARGET, "vadam"))
        == "vadam\nno test points"
    )


def test_many_points_are_drawn_as_a_density() -> None:
    points = overconfident(0)
    few, many = predictions_figure(points, TARGET), predictions_figure(pd.concat([points] * 2), "")
    assert len(few.axes) == 1 and len(few.axes[0].collections[0].get_offsets()) == 2000
    cells = many.axes[0].collections[0].get_array()
    assert many.axes[1].get_ylabel() == "test points per cell"
    assert cells is not None and cells.sum() == 4000
    # The 50 % interval is ± 0.2 standard deviations of the targets, which covers 16 % of them.
    assert legend_title(few).endswith("50 % intervals cover 15 %, 95 % intervals cover 44 %")


def test_limits_exclude_extreme_predictions() -> None:
    points = pd.DataFrame(make_points())
    points.loc[3, "mean"] = 1e9
    figure = predictions_figure(points, TARGET)
    assert figure.axes[0].get_ylim()[1] < 100 and "(1 outside the panel)" in legend_title(figure)


def test_error_bars_are_selected_by_target() -> None:
    points = pd.DataFrame(make_points())
    chosen = evenly_by_target(points, 5)["target"].to_numpy()
    again = evenly_by_target(points.assign(mean=-points["mean"]), 5)["target"].to_numpy()
    assert np.array_equal(chosen, again) and len(chosen) == 5
    assert (chosen[0], chosen[-1]) == (points["target"].min(), points["target"].max())
    assert len(evenly_by_target(points.assign(target=1.0), 5)) == 1


def test_reliability_is_the_coverage_of_each_level() -> None:
    frame = pd.DataFrame(
        {"target": [0.5, -1.5, 2.5, 0.0], "mean": 0.0, "epistemic_variance": 0.75}
    ).assign(noise_variance=0.25, split=0)
    curve = reliability_figure(frame).axes[0].lines[1]
    assert np.interp(0.95, *curve.get_data()) == pytest.approx(0.75)
    assert len(reliability_figure(frame.iloc[:0]).axes[0].lines) == 1


def test_reliability_improves_with_recalibration() -> None:
    alone = reliability_figure(overconfident(0)).axes[0]
    assert set(RECALIBRATION_NAMES.values()).isdisjoint(line.get_label() for line in alone.lines)
    recalibrated = reliability_figure(overconfident(0), overconfident(1)).axes[0]
    curves = {str(line.get_label()): line.get_ydata() for line in recalibrated.lines}
    levels = np.linspace(0.01, 0.99, 99)
    for name in RECALIBRATION_NAMES.values():
        better = np.abs(curves[name] - levels).mean()
        assert better < np.abs(curves["as predicted"] - levels).mean() / 2


def test_diverged_evaluations_are_never_the_best_so_far() -> None:
    search = pd.DataFrame(
        {"split": 0, "iteration": range(4), "objective": [math.nan, -3.0, -5.0, -2.0]}
    )
    best = best_so_far(search)[0].tolist()
    assert math.isnan(best[0]) and best[1:] == [-3, -3, -2]


def test_a_search_has_a_panel_for_each_pair_of_hyper_parameters() -> None:
    search = make_search()
    tried = search_figure(search, 3).axes[1]
    best = search.loc[search.groupby("split")["objective"].idxmax(), "hp.noise_precision"]
    assert sorted(tried.collections[1].get_offsets()[:, 0]) == pytest.approx(sorted(best))
    alone = search_figure(search.drop(columns="hp.prior_precision"), 3).axes[1]
    assert alone.get_ylabel() == "validation log-likelihood [nats]"
    three = search_figure(search.assign(**{"hp.dropout": np.arange(24.0) + 1}), 3)
    labels = [(axes.get_xlabel(), axes.get_ylabel()) for axes in three.axes[1:4]]
    pairs = [tuple(" ".join(label.split()) for label in own) for own in labels]
    noise, prior = (f"{name} precision (standardised units)" for name in ("noise", "prior"))
    assert pairs == [(noise, prior), (noise, "dropout"), (prior, "dropout")]
    assert len(search_figure(search[["split", "iteration", "objective"]], 3).axes) == 1


def test_an_objective_has_lines_for_splits_and_for_medians_of_its_terms() -> None:
    epochs = np.arange(1, 21)
    table = pd.concat([
        pd.DataFrame({"split": k, "epoch": epochs, "loss": 1.0 + k, "complexity": 0.5})
        for k in range(3)
    ])  # fmt: skip
    axes = objective_figure(table.assign(objective=table["loss"] + 0.5)).axes[0]
    lines = {str(line.get_label()): line.get_ydata() for line in axes.lines}
    assert lines["objective, median over splits"][0] == 2.5
    assert lines["loss, median over splits"][0] == 2
    assert len(axes.lines) == 3 + 3


def test_an_objective_without_finite_values_is_drawn() -> None:
    table = pd.DataFrame({"split": 0, "epoch": range(1, 5), "loss": np.nan, "complexity": 0.5})
    lost = table.assign(complexity=np.nan, objective=np.nan)
    assert objective_figure(lost).axes[0].get_xlabel() == "epoch"
