"""Figures of the sprinkler: learning curves and posteriors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.exact_draws import posterior_samples

from bnnbench.suites.lam_density_ratio.figures import (
    AXIS,
    LearningCurves,
    kernel_density,
    learning_curves_figure,
    limits,
)

ITERATIONS = np.arange(0, 2001, 100)


def curves(end: float = 1.36) -> pd.DataFrame:
    falling = end + 8 * np.exp(-ITERATIONS / 200)
    return pd.concat(
        pd.DataFrame({
            "repetition": k, "iteration": ITERATIONS, "average_kl": falling + 0.01 * k,
            "estimator_loss": np.sin(ITERATIONS), "nelbo": 4.0,
        })
        for k in range(3)
    )  # fmt: skip


def test_early_values_are_ignored_for_the_limits() -> None:
    line = curves().groupby("iteration")["average_kl"].mean()
    low, high = limits([line], 0.5)
    assert low < line.iloc[-1] < high < 1.6
    assert limits([line[:0]]) == (0.0, 1.0)
    dip = line + 0.2 * (ITERATIONS < 1500)
    dip.iloc[4] = dip.iloc[-1] - 0.05
    assert limits([dip])[0] < dip.iloc[4], "include a minimum"
    dip.iloc[4] = -50.0
    assert limits([dip])[0] > 1, "ignore a minimum far below"
    with_gaps = line.copy()
    with_gaps.iloc[-1] = np.nan
    assert np.isfinite(limits([with_gaps])).all()


def test_the_average_kl_is_shown_whole_and_enlarged_with_its_floor() -> None:
    panels = {
        "(a)": LearningCurves({"D": curves(), "T": curves(1.4)}, 1.3241),
        "(b)": LearningCurves({"T": curves()}, 1.3241),
    }
    figure = learning_curves_figure(panels, "average_kl")
    whole, _, enlarged, _ = figure.axes
    assert whole.get_yscale() == "log" and enlarged.get_yscale() == "linear"
    low, high = enlarged.get_ylim()
    assert low < 1.3241 < high < 2
    assert enlarged.get_title("right").startswith("beyond the panel: up to 9.4")
    (legend,) = figure.legends
    named = [text.get_text() for text in legend.get_texts()]
    assert named == ["D", "T", "exact posterior draws 1.3241"]
    lines = {line.get_label(): line.get_color() for axes in figure.axes for line in axes.lines}
    assert lines["D"] != lines["T"]
    alone = learning_curves_figure({"(b)": LearningCurves({"T": curves()})}, "nelbo")
    line, *_ = alone.axes[0].lines
    assert line.get_color() == lines["T"]  # an estimator has one colour in every figure


def test_the_kernel_density_integrates_to_one_and_agrees_with_its_formula() -> None:
    samples = posterior_samples(0.0, 400, np.random.default_rng(0))
    density, cell = kernel_density(samples), (AXIS[1] - AXIS[0]) ** 2
    assert density.shape == (len(AXIS), len(AXIS))
    assert density.sum() * cell == pytest.approx(1, abs=0.01)
    bandwidth = 1.06 * samples.std(0) * 400 ** (-1 / 6)
    distance = (np.array([AXIS[150], AXIS[120]]) - samples) / bandwidth
    each = np.exp(-0.5 * (distance**2).sum(1)) / (2 * np.pi * bandwidth.prod())
    assert density[150, 120] == pytest.approx(each.mean())
