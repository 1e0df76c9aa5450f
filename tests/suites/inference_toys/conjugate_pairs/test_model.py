"""Conjugate posteriors in closed form, against SciPy, quadrature and each other."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gamma, multivariate_normal, norm, t

from bnnbench.suites.inference_toys.conjugate_pairs import quadrature
from bnnbench.suites.inference_toys.conjugate_pairs.model import (
    MeanPair,
    Pair,
    PrecisionPair,
    simulate,
)

X = np.array([3.7, 4.6, 3.7, 0.4])


def made(size: int) -> tuple[MeanPair, PrecisionPair]:
    """The pairs of the experiment."""
    x = simulate(size, 3.0, 2.0, seed=1)
    return MeanPair(x, 2.0, -1.0, 1.5), PrecisionPair(x, 3.0, 2.0, 1.0)


def test_one_observation_between_equals_is_in_the_middle() -> None:
    """Prior N(0, 1) and one observation of variance 1 at 2: N(1, 1/2), by hand."""
    found = MeanPair(np.array([2.0]), 1.0, 0.0, 1.0).estimates()
    assert (found.mle, found.mode, found.mean, found.median) == (2, 1, 1, 1)
    assert found.scale == pytest.approx(np.sqrt(0.5))
    assert found.log_evidence == pytest.approx(norm.logpdf(2, 0, np.sqrt(2)))


def test_the_mean_updated_one_by_one() -> None:
    middle, variance, evidence = -1.0, 1.5**2, 0.0
    for x in X:
        evidence += norm.logpdf(x, middle, np.sqrt(variance + 4))
        gain = variance / (variance + 4)
        middle, variance = middle + gain * (x - middle), variance * (1 - gain)
    found = MeanPair(X, 2.0, -1.0, 1.5).estimates()
    assert found.mean == pytest.approx(middle) and found.scale == pytest.approx(np.sqrt(variance))
    assert found.log_evidence == pytest.approx(evidence)
    together = multivariate_normal(np.full(4, -1.0), 4 * np.eye(4) + 1.5**2)
    assert found.log_evidence == pytest.approx(together.logpdf(X))


def test_the_precision_by_scipy() -> None:
    pair = PrecisionPair(X, 3.0, 2.0, 1.0)
    exact = gamma(2.0 + 2, scale=1 / (1 + 0.5 * ((X - 3) ** 2).sum()))
    found = pair.estimates()
    assert (found.mean, found.median) == pytest.approx((exact.mean(), exact.median()))
    assert found.scale == pytest.approx(exact.std())
    # The evidence of one observation is Student's t.
    one = PrecisionPair(X[:1], 3.0, 2.0, 1.0).estimates()
    assert one.log_evidence == pytest.approx(t.logpdf(X[0], 4, 3.0, np.sqrt(1 / 2)))


@pytest.mark.parametrize("size", [1, 3, 10, 100])
def test_closed_forms_are_those_of_quadrature(size: int) -> None:
    for pair in made(size):
        np.testing.assert_allclose(
            astuple(pair.estimates()), astuple(quadrature.estimates(pair)), rtol=1e-5
        )


@given(
    st.integers(1, 30),
    st.integers(-5, 5),
    st.floats(0.1, 9),
    st.floats(0.3, 9),
    st.floats(0.05, 20),
)
def test_closed_forms_are_those_of_quadrature_for_any_prior(
    size: int, prior_mean: int, prior_scale: float, shape: float, rate: float
) -> None:
    x = simulate(size, 3.0, 2.0, seed=size)
    pairs: tuple[Pair, ...] = (
        MeanPair(x, 2.0, prior_mean, prior_scale), PrecisionPair(x, 3.0, shape, rate)
    )  # fmt: skip
    for pair in pairs:
        closed, summed = pair.estimates(), quadrature.estimates(pair)
        assert closed.mean == pytest.approx(summed.mean, rel=1e-6, abs=1e-6)
        assert closed.scale == pytest.approx(summed.scale, rel=1e-6)
        assert closed.log_evidence == pytest.approx(summed.log_evidence, rel=1e-8)


def test_the_print_is_another_posterior() -> None:
    right, print_ = (
        made(3)[0].estimates(),
        MeanPair(X[:3], 2.0, -1.0, 1.5, printed=True).estimates(),
    )
    average = X[:3].mean()
    assert print_.mean == pytest.approx((-1 + 3 * average) / (4 + 3 * 2.25))
    assert print_.scale == pytest.approx(1 / (1 / 2.25 + 3 / 4))
    assert abs(print_.mean - right.mean) > 0.5 and abs(print_.scale - right.scale) > 0.05


@pytest.mark.parametrize("shape", [0.5, 2.0, 3.7])
def test_the_gamma_prior_is_worth_observations(shape: float) -> None:
    pair = PrecisionPair(X, 3.0, shape, 0.8)
    pseudo = quadrature.weighted(pair.log_pseudo_joint, pair.reach, pair.positive)
    assert pseudo.mean == pytest.approx(pair.estimates().mean, rel=1e-8)
    assert pseudo.scale == pytest.approx(pair.estimates().scale, rel=1e-8)


def test_each_loss_has_its_estimate() -> None:
    """Mean, median and mode of a skewed posterior are apart, and each loss finds its own."""
    pair = made(1)[1]
    posterior = quadrature.weighted(quadrature.log_joint(pair), pair.reach, pair.positive)
    exact = pair.estimates()
    near = 0.01 * exact.scale
    assert exact.mode < exact.median - 0.3 < exact.mean - 0.5
    assert quadrature.best_estimate(posterior, "quadratic") == pytest.approx(exact.mean, abs=near)
    assert quadrature.best_estimate(posterior, "absolute") == pytest.approx(exact.median, abs=near)
    assert quadrature.best_estimate(posterior, "zero_one") == pytest.approx(exact.mode, abs=near)
    risk = quadrature.risk(posterior, "quadratic", exact.mean)
    assert risk == pytest.approx(exact.scale**2)


def test_fewer_observations_are_the_first_of_more() -> None:
    np.testing.assert_array_equal(simulate(3, 3.0, 2.0, 1), simulate(100, 3.0, 2.0, 1)[:3])
