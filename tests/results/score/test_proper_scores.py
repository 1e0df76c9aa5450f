"""Scores of mixtures against scoringrules, and metrics that are computed from saved predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scoringrules
from scipy.stats import norm

from bnnbench.results.score.predictions import Mixture, SplitPredictions
from bnnbench.results.score.predictive_distances import exact_quantiles, mixture_cdf
from bnnbench.results.score.proper_scores import (
    PIT_COLUMNS,
    QUANTILES,
    point_scores,
    split_proper_scores,
    tail_crps,
)

POINTS = 200
CLOSE = {"rel": 1e-10, "abs": 1e-10}


def draws(components: int) -> tuple[Mixture, np.ndarray]:
    """Return mixtures of components with different deviations, and targets, some far away."""
    random = np.random.default_rng(components)
    loc = 3 * random.normal(size=(POINTS, components))
    epistemic, noise = random.uniform(0.05, 4, (2, POINTS, components))
    return Mixture(loc, epistemic, noise), 4 * random.standard_t(3, POINTS)


def test_the_tail_crps_of_gaussians_is_that_of_censored_gaussians() -> None:
    mixture, y = draws(1)
    low, high, loc, deviation = -1.5, 2.0, mixture.loc[:, 0], mixture.deviation[:, 0]
    below = scoringrules.crps_cnormal(np.minimum(y, low), loc, deviation, -np.inf, low)
    above = scoringrules.crps_cnormal(np.maximum(y, high), loc, deviation, high, np.inf)
    known = np.isfinite(below + above)
    assert known.mean() > 0.9
    found = tail_crps(mixture, y, low, high)
    assert found[known] == pytest.approx((below + above)[known], **CLOSE)
    assert np.isfinite(found).all()


def test_two_tails_that_meet_give_the_crps() -> None:
    mixture, y = draws(9)
    expected = scoringrules.crps_mixnorm(y, mixture.loc, mixture.deviation)
    assert tail_crps(mixture, y, 0.3, 0.3) == pytest.approx(expected, **CLOSE)


def test_quantiles_of_mixtures_are_exact_even_in_gaps() -> None:
    mixture, levels = draws(5)[0], np.array([[0.001, 0.05, 0.5, 0.9]])
    assert mixture_cdf(mixture, exact_quantiles(mixture, levels)) == pytest.approx(
        np.repeat(levels, POINTS, 0), rel=1e-12
    )
    apart = Mixture(np.array([[0.0, 100.0, 100.0]]), np.full((1, 1), 1e-4), np.zeros((1, 1)))
    assert exact_quantiles(apart, np.array([[0.2, 0.8]]))[0] == pytest.approx([0, 100], abs=0.1)


@pytest.mark.parametrize("components", [1, 4])
def test_interval_score_and_quantile_loss_are_those_of_the_quantiles(components: int) -> None:
    """With the quantiles of scipy for Gaussians, and found by their CDF for mixtures."""
    mixture, y = draws(components)
    levels = np.array([0.05, *QUANTILES, 0.95])
    found = point_scores(mixture, y, np.nan, np.nan)
    if components == 1:
        quantiles = norm.ppf(levels, mixture.loc, mixture.deviation)
    else:
        quantiles = exact_quantiles(mixture, levels[None])
    interval = scoringrules.interval_score(y, quantiles[:, 0], quantiles[:, -1], 0.1)
    losses = scoringrules.quantile_score(y[:, None], quantiles[:, 1:-1], QUANTILES)
    assert found["interval_score"] == pytest.approx(interval, **CLOSE)
    assert found["quantile_loss"] == pytest.approx(losses.mean(1), **CLOSE)
    assert np.isnan(found["tail_crps"]).all()


@pytest.mark.parametrize("points", [1, 2, 3])
@pytest.mark.parametrize("components", [1, 2, 7])
@pytest.mark.parametrize("known_tails", [False, True])
def test_scores_of_one_point_are_those_among_many(
    points: int, components: int, known_tails: bool
) -> None:
    mixture, targets = draws(components)
    tails = (-1.0, 2.0) if known_tails else (np.nan, np.nan)
    chosen = np.arange(5, 5 + points)
    found = point_scores(mixture.select_points(chosen), targets[chosen], *tails)
    for name, values in point_scores(mixture, targets, *tails).items():
        assert found[name].shape == (points,)
        assert found[name] == pytest.approx(values[chosen], nan_ok=True, **CLOSE)


def exact(held_out: bool) -> SplitPredictions:
    """Return targets drawn from their predictive distributions."""
    mixture, _ = draws(1)
    y = mixture.loc[:, 0] + mixture.deviation[:, 0] * np.random.default_rng(7).normal(size=POINTS)
    points = pd.DataFrame({"target": y})
    return SplitPredictions(3, points, mixture, points if held_out else pd.DataFrame())


def test_a_row_has_means_over_points_and_a_flat_pit_histogram() -> None:
    (row,), (missing,) = (split_proper_scores(exact(known)) for known in (True, False))
    histogram = np.array([row[name] for name in PIT_COLUMNS])
    assert histogram.sum() == pytest.approx(1) and (abs(histogram - 0.1) < 0.07).all()
    one = exact(True)
    ends = np.quantile(one.points["target"], [0.1, 0.9])
    expected = tail_crps(one.mixture, one.points["target"].to_numpy(), *ends).mean()
    assert row["tail_crps"] == pytest.approx(expected) and np.isnan(missing["tail_crps"])
    assert missing["interval_score"] == row["interval_score"] and row["split"] == 3
    wide = replace(
        one, mixture=Mixture(one.mixture.loc, 100 + one.mixture.epistemic, one.mixture.noise)
    )
    assert split_proper_scores(wide)[0]["interval_score"] > 2 * row["interval_score"]
