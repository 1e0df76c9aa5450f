"""Predictive distributions of new rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from support.user_errors import raises_user_error

from bnnbench.prediction.distribution import PredictiveDistribution
from bnnbench.results.score.predictions import Mixture

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


LOGS = PredictiveDistribution(Mixture(LOC, EPISTEMIC, NOISE, log=True), INDEX)
"""Of targets whose logarithms have the distribution `MIXTURE`."""

LEVELS = np.array([[0.001, 0.3, 0.9], [0.5, 0.1, 0.999]])


def test_a_logarithm_has_the_quantiles_of_its_gaussians() -> None:
    assert LOGS.quantile(LEVELS) == pytest.approx(np.exp(MIXTURE.quantile(LEVELS)))
    assert LOGS.interval(0.8)[1] == pytest.approx(np.exp(MIXTURE.interval(0.8)[1]))
    assert LOGS.cdf(np.exp(LEVELS)) == pytest.approx(MIXTURE.cdf(LEVELS))
    assert LOGS.sample(5, 0) == pytest.approx(np.exp(MIXTURE.sample(5, 0)))


def test_the_density_of_a_logarithm_is_the_derivative_of_the_cdf() -> None:
    values, step = np.array([[0.02, 0.9, 7.0], [0.5, 3.0, 20.0]]), 1e-5
    slope = (LOGS.cdf(values + step) - LOGS.cdf(values - step)) / (2 * step)
    assert LOGS.pdf(values) == pytest.approx(slope, rel=1e-5)
    impossible = np.array([[0.0, -1.0]])
    assert not LOGS.cdf(impossible).any() and not LOGS.pdf(impossible).any()
    grid = np.geomspace(1e-7, 1e6, 40_001)
    density = LOGS.pdf(grid[None])
    mean = np.trapezoid(density * grid, grid)
    assert LOGS.mean == pytest.approx(mean, rel=1e-5)
    variance = np.trapezoid(density * (grid - mean[:, None]) ** 2, grid)
    assert LOGS.std == pytest.approx(np.sqrt(variance), rel=1e-4)


@pytest.mark.parametrize("shape", [(2, 1), (2, 3), (1, 4), (1, 1)])
@pytest.mark.parametrize("function", ["quantile", "cdf", "log_pdf", "pdf"])
def test_a_row_for_all_or_for_each(function: str, shape: tuple[int, ...]) -> None:
    given = np.linspace(0.2, 0.9, np.prod(shape)).reshape(shape)
    found = getattr(MIXTURE, function)(given)
    assert found.shape == (2, shape[1])
    each = np.broadcast_to(given, found.shape)
    for (row, column), value in np.ndenumerate(each):
        assert found[row, column] == pytest.approx(getattr(MIXTURE, function)(value)[row])


@pytest.mark.parametrize("shape", [(3, 1), (3, 2), (0, 1), (2, 1, 1), (1, 1, 1)])
@pytest.mark.parametrize("function", ["quantile", "cdf", "log_pdf", "pdf"])
def test_other_shapes_are_refused(function: str, shape: tuple[int, ...]) -> None:
    setting = "levels" if function == "quantile" else "values"
    with raises_user_error(setting, "wrong_shape"):
        getattr(MIXTURE, function)(np.full(shape, 0.5))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_value_for_each_row(count: int) -> None:
    with raises_user_error("values", "wrong_shape"):
        MIXTURE.cdf(np.full(count, 0.5))
    assert MIXTURE.quantile(np.full(count, 0.5)).shape == (2, count), "levels are for all rows"


def test_levels_are_probabilities() -> None:
    with raises_user_error("levels"):
        MIXTURE.quantile([0.5, 1.0])
    with raises_user_error("level"):
        MIXTURE.interval(90)
    with raises_user_error("level"):
        MIXTURE.interval(np.array([0.5, 0.9]))  # type: ignore[arg-type]
