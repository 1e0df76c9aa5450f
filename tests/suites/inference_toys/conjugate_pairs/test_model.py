"""Conjugate posteriors in closed form, compared with SciPy and quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from bnnbench.suites.inference_toys.conjugate_pairs import quadrature
from bnnbench.suites.inference_toys.conjugate_pairs.model import (
    CLOSED_FORM,
    EVIDENCE,
    MEAN,
    SCALE,
    Estimates,
    MeanPair,
    Pair,
    PrecisionPair,
    numerical_estimates,
    simulate,
)

X = np.array([3.7, 4.6, 3.7, 0.4])


def pairs(
    size: int, mean: float = -1.0, scale: float = 1.5, shape: float = 2.0, rate: float = 1.0
) -> tuple[MeanPair, PrecisionPair]:
    """Return the pairs, with the experiment's prior by default."""
    x = simulate(size, 3.0, 2.0, seed=1)
    return MeanPair(x, 2.0, mean, scale), PrecisionPair(x, 3.0, shape, rate)


def closed_form(pair: Pair) -> Estimates:
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


@settings(max_examples=15)
@given(st.integers(1, 30), st.integers(-5, 5), *(st.floats(low, 9) for low in (0.1, 0.3, 0.05)))
def test_closed_forms_agree_with_quadrature_for_any_prior(
    size: int, mean: int, scale: float, shape: float, rate: float
) -> None:
    for pair in pairs(size, mean, scale, shape, rate):
        closed, numerical = closed_form(pair), numerical_estimates(pair)
        assert closed[MEAN] == pytest.approx(numerical[MEAN], rel=1e-6, abs=1e-6)
        assert closed[SCALE] == pytest.approx(numerical[SCALE], rel=1e-6)
        assert closed[EVIDENCE] == pytest.approx(numerical[EVIDENCE], rel=1e-8)


def test_the_gamma_prior_equals_pseudo_observations() -> None:
    pair = PrecisionPair(X, 3.0, 3.7, 0.8)
    pseudo = quadrature.discretise(pair.log_pseudo_joint, pair.axis)
    assert pseudo.mean == pytest.approx(closed_form(pair)[MEAN], rel=1e-8)
    assert pseudo.scale == pytest.approx(closed_form(pair)[SCALE], rel=1e-8)
