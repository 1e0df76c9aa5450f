"""Likelihood, bound and gradient of two Gaussians, compared with their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from bnnbench.suites.inference_toys.expectation_maximisation.model import (
    Parameters,
    bound,
    gradient,
    log_joint,
    log_likelihood,
    posterior,
)

POINTS = np.array([4.3, -0.2, 1.1])
THETA = Parameters(np.array([0.3, 0.7]), np.array([1.0, 4.0]), np.array([2.0, 0.5]))


def test_likelihood_is_that_of_the_mixture() -> None:
    density = 0.3 * norm.pdf(POINTS, 1.0, 2**0.5) + 0.7 * norm.pdf(POINTS, 4.0, 0.5**0.5)
    assert log_likelihood(POINTS, THETA) == pytest.approx(np.log(density).sum())
    np.testing.assert_allclose(np.exp(log_joint(POINTS, THETA)).sum(1), density)


def test_the_posterior_follows_bayes_rule() -> None:
    first, second = 0.3 * norm.pdf(4.3, 1.0, 2**0.5), 0.7 * norm.pdf(4.3, 4.0, 0.5**0.5)
    assert posterior(POINTS, THETA)[0, 0] == pytest.approx(first / (first + second))


@settings(max_examples=50, deadline=None)
@given(ones=st.lists(st.floats(0.0, 1.0, allow_subnormal=False), min_size=3, max_size=3))
def test_the_bound_is_lower_by_the_kl_divergence_to_the_posterior(
    ones: list[float],
) -> None:
    q = np.stack([ones, 1 - np.array(ones)], 1)
    best = posterior(POINTS, THETA)
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.nansum(np.where(q > 0, q * np.log(q / best), 0.0))
    exact = log_likelihood(POINTS, THETA)
    assert exact - bound(POINTS, q, THETA) == pytest.approx(divergence, abs=1e-10)
    assert bound(POINTS, best, THETA) == pytest.approx(exact, abs=1e-12)


def test_the_bound_of_the_lectures_remark_is_not_tight() -> None:
    """The remark on EM includes the entropy of one point only."""
    q = posterior(POINTS, THETA)
    entropies = -(q * np.log(q)).sum(1)
    printed = (q * log_joint(POINTS, THETA)).sum() + entropies[0]
    gap = log_likelihood(POINTS, THETA) - printed
    assert gap == pytest.approx(entropies[1:].sum()) and gap > 0.005


def test_the_gradient_has_a_closed_form() -> None:
    for k in range(2):
        step = 1e-5 * np.eye(2)[k]
        above, below = (
            log_likelihood(POINTS, Parameters(THETA.weight, THETA.loc + s, THETA.variance))
            for s in (step, -step)
        )
        assert gradient(POINTS, THETA)[k] == pytest.approx((above - below) / 2e-5, rel=1e-7)


def test_components_are_sorted_by_mean() -> None:
    swapped = Parameters(THETA.weight[::-1], THETA.loc[::-1], THETA.variance[::-1])
    assert np.array_equal(swapped.sorted_by_mean().flatten(), THETA.flatten())
