"""Predictive distributions of new rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from support.user_errors import raises_user_error

from bnnbench.prediction.distribution import PredictiveDistribution
from bnnbench.results.mixtures import Mixture

LOC = np.array([[-3.0, 0.0, 2.0], [1.0, 1.0, 1.0]])
EPISTEMIC = np.array([[0.1, 0.0, 0.5], [0.0, 0.0, 0.2]])
NOISE = np.array([[0.4], [0.8]])
INDEX = pd.Index(["p", "q"], name="label")

MIXTURE = PredictiveDistribution(Mixture(LOC, EPISTEMIC, NOISE), INDEX)
GAUSSIAN = PredictiveDistribution(Mixture(LOC[:, :1], EPISTEMIC[:, :1], NOISE), INDEX)

GRID = np.linspace(-12, 12, 20_001)


def test_the_density_has_the_moments() -> None:
    density = MIXTURE.pdf(GRID[None])
    assert density.shape == (2, len(GRID))
    assert np.trapezoid(density, GRID) == pytest.approx([1, 1])
    mean = np.trapezoid(density * GRID, GRID)
    variance = np.trapezoid(density * (GRID - mean[:, None]) ** 2, GRID)
    assert MIXTURE.mean == pytest.approx(mean)
    assert MIXTURE.std == pytest.approx(np.sqrt(variance))
    assert MIXTURE.noise_std == pytest.approx(np.sqrt(NOISE[:, 0]))
    assert MIXTURE.epistemic_std**2 + NOISE[:, 0] == pytest.approx(variance)


def test_cdf_and_quantile_are_inverse_and_integrate_the_density() -> None:
    below = np.array(
        [np.trapezoid(row[GRID <= 0.6], GRID[GRID <= 0.6]) for row in MIXTURE.pdf(GRID[None])]
    )
    assert MIXTURE.cdf(0.6) == pytest.approx(below, abs=1e-4)
    levels = [0.001, 0.3, 0.5, 0.999]
    ends = MIXTURE.quantile(levels)
    assert ends.shape == (2, 4)
    assert MIXTURE.cdf(ends) == pytest.approx(np.broadcast_to(levels, (2, 4)), abs=1e-9)
    assert MIXTURE.quantile(0.3) == pytest.approx(ends[:, 1])
    assert MIXTURE.cdf(MIXTURE.quantile(0.3)) == pytest.approx([0.3, 0.3])


def test_one_component_is_a_gaussian() -> None:
    deviation = np.sqrt(EPISTEMIC[:, 0] + NOISE[:, 0])
    reference = norm(LOC[:, 0], deviation)
    values = np.array([0.3, -200.0])
    assert GAUSSIAN.log_pdf(values) == pytest.approx(reference.logpdf(values))
    assert GAUSSIAN.cdf(values) == pytest.approx(reference.cdf(values))
    assert GAUSSIAN.quantile(0.9) == pytest.approx(reference.ppf(0.9))


def test_samples_have_the_distribution() -> None:
    drawn = MIXTURE.sample(20_000, random_state=0)
    assert np.array_equal(drawn, MIXTURE.sample(20_000, random_state=0))
    assert (drawn <= MIXTURE.quantile(0.3)[:, None]).mean(1) == pytest.approx(0.3, abs=0.015)
    assert drawn.std(1) == pytest.approx(MIXTURE.std, rel=0.03)


def test_the_frame_has_the_index_of_the_rows() -> None:
    frame = MIXTURE.to_frame(0.8)
    pd.testing.assert_index_equal(frame.index, INDEX)
    assert MIXTURE.cdf(frame[["lower", "upper"]].to_numpy()) == pytest.approx(
        np.array([[0.1, 0.9]] * 2)
    )
    total = np.hypot(frame["epistemic"], frame["noise"])
    assert frame["standard_deviation"].tolist() == pytest.approx(total.tolist())


def test_levels_are_probabilities() -> None:
    with raises_user_error("levels"):
        MIXTURE.quantile([0.5, 1.0])
    with raises_user_error("level"):
        MIXTURE.interval(90)
