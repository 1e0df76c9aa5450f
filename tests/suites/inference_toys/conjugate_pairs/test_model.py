"""Conjugate posteriors in closed form, compared with SciPy and quadrature."""

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


def simulated(size: int) -> tuple[MeanPair, PrecisionPair]:
    """Return the pairs of the experiment."""
    x = simulate(size, 3.0, 2.0, seed=1)
    return MeanPair(x, 2.0, -1.0, 1.5), PrecisionPair(x, 3.0, 2.0, 1.0)


def test_equal_variances_average_prior_mean_and_observation() -> None:
    """A prior N(0, 1) and one observation 2 with variance 1 give N(1, 1/2)."""
    estimates = MeanPair(np.array([2.0]), 1.0, 0.0, 1.0).estimates()
    assert (estimates.mle, estimates.mode, estimates.mean, estimates.median) == (2, 1, 1, 1)
    assert estimates.scale == pytest.approx(np.sqrt(0.5))
    assert estimates.log_evidence == pytest.approx(norm.logpdf(2, 0, np.sqrt(2)))


def test_the_mean_agrees_with_sequential_updates() -> None:
    mean, variance, evidence = -1.0, 1.5**2, 0.0
    for x in X:
        evidence += norm.logpdf(x, mean, np.sqrt(variance + 4))
        gain = variance / (variance + 4)
        mean, variance = mean + gain * (x - mean), variance * (1 - gain)
    estimates = MeanPair(X, 2.0, -1.0, 1.5).estimates()
    assert estimates.mean == pytest.approx(mean) and estimates.scale == pytest.approx(
        np.sqrt(variance)
    )
    assert estimates.log_evidence == pytest.approx(evidence)
    together = multivariate_normal(np.full(4, -1.0), 4 * np.eye(4) + 1.5**2)
    assert estimates.log_evidence == pytest.approx(together.logpdf(X))


def test_the_precision_agrees_with_scipy() -> None:
    pair = PrecisionPair(X, 3.0, 2.0, 1.0)
    exact = gamma(2.0 + 2, scale=1 / (1 + 0.5 * ((X - 3) ** 2).sum()))
    estimates = pair.estimates()
    assert (estimates.mean, estimates.median) == pytest.approx((exact.mean(), exact.median()))
    assert estimates.scale == pytest.approx(exact.std())
    # The evidence of one observation is Student's t.
    one = PrecisionPair(X[:1], 3.0, 2.0, 1.0).estimates()
    assert one.log_evidence == pytest.approx(t.logpdf(X[0], 4, 3.0, np.sqrt(1 / 2)))


@pytest.mark.parametrize("size", [1, 3, 10, 100])
def test_closed_forms_agree_with_quadrature(size: int) -> None:
    for pair in simulated(size):
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
def test_closed_forms_agree_with_quadrature_for_any_prior(
    size: int, prior_mean: int, prior_scale: float, shape: float, rate: float
) -> None:
    x = simulate(size, 3.0, 2.0, seed=size)
    pairs: tuple[Pair, ...] = (
        MeanPair(x, 2.0, prior_mean, prior_scale), PrecisionPair(x, 3.0, shape, rate)
    )  # fmt: skip
    for pair in pairs:
        closed, numerical = pair.estimates(), quadrature.estimates(pair)
        assert closed.mean == pytest.approx(numerical.mean, rel=1e-6, abs=1e-6)
        assert closed.scale == pytest.approx(numerical.scale, rel=1e-6)
        assert closed.log_evidence == pytest.approx(numerical.log_evidence, rel=1e-8)


def test_the_printed_equations_give_another_posterior() -> None:
    correct, printed = (
        simulated(3)[0].estimates(),
        MeanPair(X[:3], 2.0, -1.0, 1.5, printed=True).estimates(),
    )
    average = X[:3].mean()
    assert printed.mean == pytest.approx((-1 + 3 * average) / (4 + 3 * 2.25))
    assert printed.scale == pytest.approx(1 / (1 / 2.25 + 3 / 4))
    assert abs(printed.mean - correct.mean) > 0.5
    assert abs(printed.scale - correct.scale) > 0.05


@pytest.mark.parametrize("shape", [0.5, 2.0, 3.7])
def test_the_gamma_prior_equals_pseudo_observations(shape: float) -> None:
    pair = PrecisionPair(X, 3.0, shape, 0.8)
    pseudo = quadrature.discretise(pair.log_pseudo_joint, pair.integration_limits, pair.is_positive)
    assert pseudo.mean == pytest.approx(pair.estimates().mean, rel=1e-8)
    assert pseudo.scale == pytest.approx(pair.estimates().scale, rel=1e-8)


def test_each_loss_is_minimised_by_its_estimate() -> None:
    """Mean, median and mode of a skewed posterior differ."""
    pair = simulated(1)[1]
    posterior = quadrature.discretise(
        quadrature.log_joint(pair), pair.integration_limits, pair.is_positive
    )
    exact = pair.estimates()
    tolerance = 0.01 * exact.scale
    assert exact.mode < exact.median - 0.3 < exact.mean - 0.5
    assert quadrature.minimise_risk(posterior, "quadratic") == pytest.approx(
        exact.mean, abs=tolerance
    )
    assert quadrature.minimise_risk(posterior, "absolute") == pytest.approx(
        exact.median, abs=tolerance
    )
    assert quadrature.minimise_risk(posterior, "zero_one") == pytest.approx(
        exact.mode, abs=tolerance
    )
    risk = quadrature.risk(posterior, "quadratic", exact.mean)
    assert risk == pytest.approx(exact.scale**2)


def test_smaller_samples_are_prefixes() -> None:
    np.testing.assert_array_equal(simulate(3, 3.0, 2.0, 1), simulate(100, 3.0, 2.0, 1)[:3])
