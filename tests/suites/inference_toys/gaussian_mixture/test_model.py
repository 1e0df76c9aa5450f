"""ELBO and the exact posterior of the mixture, compared with their definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from bnnbench.suites.inference_toys.gaussian_mixture.model import (
    MixtureFactors,
    elbo,
    enumerate_assignments,
    lowest_mean,
)

THREE = np.array([-1.0, 0.3, 2.5])


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
    factors = MixtureFactors(loc, variance, weights)
    assert elbo(points, factors, prior_variance) == pytest.approx(expected, rel=1e-12)


def log_evidence_on_grid(points: np.ndarray, prior_variance: float) -> float:
    """Log evidence of two components; the integral over both means by the trapezoidal rule."""
    grid = np.linspace(-25, 25, 1201)
    prior = norm.pdf(grid, scale=np.sqrt(prior_variance))
    density = prior[:, None] * prior
    for point in points:
        one = norm.pdf(point, grid)
        density = density * 0.5 * (one[:, None] + one)
    return float(np.log(np.trapezoid(np.trapezoid(density, grid), grid)))


def test_evidence_is_the_integral_over_the_means() -> None:
    exact = enumerate_assignments(THREE, 2, 9.0)
    assert len(exact.log_joint) == 8
    assert exact.log_evidence == pytest.approx(log_evidence_on_grid(THREE, 9.0), abs=1e-9)


def test_lowest_mean_of_distant_clusters_is_conjugate() -> None:
    points = np.array([-30.0, -31.0, -29.5, 30.0])
    mean, std = lowest_mean(enumerate_assignments(points, 2, 1e4))
    precision = 1e-4 + 3
    assert mean == pytest.approx(points[:3].sum() / precision)
    assert std == pytest.approx(precision**-0.5)
