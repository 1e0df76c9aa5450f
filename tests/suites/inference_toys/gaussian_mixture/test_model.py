"""ELBO and predictions of the mixture, compared with their definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from bnnbench.suites.inference_toys.gaussian_mixture.model import (
    Factors,
    draw_points,
    elbo,
    log_predictive,
)


def test_elbo_is_the_expectation_over_q() -> None:
    """Sum over assignments; Gauss-Hermite quadrature over means, exact for squares."""
    points, prior_variance = np.array([-0.7, 1.9]), 4.0
    loc, variance = np.array([-1.0, 0.5]), np.array([0.3, 0.9])
    weights = np.array([[0.8, 0.2], [0.35, 0.65]])
    nodes, masses = np.polynomial.hermite_e.hermegauss(5)
    masses = masses / masses.sum()
    expected = 0.0
    for (i, a), (j, b) in product(enumerate(nodes), repeat=2):
        means = loc + np.sqrt(variance) * [a, b]
        log_q = norm.logpdf(means, loc, np.sqrt(variance)).sum()
        log_p = norm.logpdf(means, 0, np.sqrt(prior_variance)).sum()
        for labels in product(range(2), repeat=2):
            mass = masses[i] * masses[j] * weights[[0, 1], labels].prod()
            log_joint = log_p + norm.logpdf(points, means[list(labels)]).sum() + 2 * np.log(0.5)
            expected += mass * (log_joint - log_q - np.log(weights[[0, 1], labels]).sum())
    factors = Factors(loc, variance, weights)
    assert elbo(points, factors, prior_variance) == pytest.approx(expected, rel=1e-12)


def test_certain_assignments_have_a_finite_bound() -> None:
    factors = Factors(np.array([0.0, 1.0]), np.ones(2), np.array([[1.0, 0.0]]))
    assert np.isfinite(elbo(np.array([0.2]), factors, 1.0))


def test_prediction_adds_the_variance_of_the_means() -> None:
    loc, variance = np.array([[0.0, 3.0], [1.0, 1.0]]), np.array([[0.5, 2.0], [0.0, 0.0]])
    log_density = log_predictive(np.array([0.4, -1.0]), loc, variance)
    assert log_density.shape == (2, 2)
    density = 0.5 * (norm.pdf(0.4, 0, 1.5**0.5) + norm.pdf(0.4, 3, 3**0.5))
    assert log_density[0, 0] == pytest.approx(np.log(density))
    assert log_density[1, 1] == pytest.approx(norm.logpdf(-1.0, 1.0))


def test_points_are_drawn_from_the_mixture() -> None:
    points = draw_points((-5.0, 5.0), 4000, np.random.default_rng(3))
    assert points[points > 0].mean() == pytest.approx(5.0, abs=0.1)  # 4.5 errors
    assert (points > 0).mean() == pytest.approx(0.5, abs=0.035)
