"""Conjugate posteriors in closed form, compared with SciPy and quadrature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, multivariate_normal, norm

from bnnbench.suites.inference_toys.conjugate_pairs import (
    CLOSED_FORM,
    EVIDENCE,
    MAP,
    MEAN,
    MEDIAN,
    MLE,
    SCALE,
    MeanPair,
    PrecisionPair,
)

X = np.array([3.7, 4.6, 3.7, 0.4])


def closed_form(pair: MeanPair | PrecisionPair) -> dict[str, float]:
    return pair.approximations()[CLOSED_FORM]


def test_the_mean_agrees_with_sequential_updates() -> None:
    mean, variance, evidence = -1.0, 1.5**2, 0.0
    for x in X:
        evidence += norm.logpdf(x, mean, np.sqrt(variance + 4))
        gain = variance / (variance + 4)
        mean, variance = mean + gain * (x - mean), variance * (1 - gain)
    estimates = closed_form(MeanPair(X, 2.0, -1.0, 1.5))
    assert estimates[MEAN] == pytest.approx(mean)
    assert estimates[SCALE] == pytest.approx(np.sqrt(variance))
    together = multivariate_normal(np.full(4, -1.0), 4 * np.eye(4) + 1.5**2)
    assert estimates[EVIDENCE] == pytest.approx(evidence) == pytest.approx(together.logpdf(X))


@pytest.mark.slow
@settings(max_examples=15)
@given(*(st.floats(low, 9) for low in (0.1, 0.3, 0.05)))
def test_closed_forms_agree_with_quadrature_for_any_prior(
    scale: float, shape: float, rate: float
) -> None:
    """The posterior mean, and the evidence, by integrals of prior times likelihood."""
    mean, precision = MeanPair(X, 2.0, -1.0, scale), PrecisionPair(X, 3.0, shape, rate)
    assert_agrees(mean, norm(-1.0, scale), lambda m: norm.pdf(X, m, 2.0))
    assert_agrees(precision, gamma(shape, scale=1 / rate), lambda p: norm.pdf(X, 3.0, p**-0.5))


def assert_agrees(pair: MeanPair | PrecisionPair, prior: Any, likelihood: Any) -> None:
    closed = closed_form(pair)
    low, high = closed[MEAN] - 14 * closed[SCALE], closed[MEAN] + 14 * closed[SCALE]

    def integrand(value: float, power: int) -> float:
        return float(value**power * prior.pdf(value) * likelihood(value).prod())

    limits = (max(low, prior.support()[0]), high)
    mass, first = (quad(integrand, *limits, (k,), points=[closed[MEAN]])[0] for k in range(2))
    assert first / mass == pytest.approx(closed[MEAN], rel=1e-4, abs=1e-6)
    assert np.log(mass) == pytest.approx(closed[EVIDENCE], abs=1e-3)


def test_the_figure_shows_the_densities_of_the_estimates() -> None:
    for pair in (MeanPair(X, 2.0, -1.0, 1.5), PrecisionPair(X, 3.0, 2.0, 1.0)):
        own, closed = pair.distributions(), closed_form(pair)
        moments = own["posterior"].mean(), own["posterior"].std(), own["posterior"].median()
        assert moments == pytest.approx((closed[MEAN], closed[SCALE], closed[MEDIAN]))
        grid = np.linspace(0.01, 6, 20001)
        for name, mode in (("likelihood", MLE), ("posterior", MAP)):
            assert grid[own[name].pdf(grid).argmax()] == pytest.approx(closed[mode], abs=3e-4)
