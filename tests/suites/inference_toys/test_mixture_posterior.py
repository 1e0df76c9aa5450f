"""CAVI, variational EM and stochastic VI, and the exact posterior of the mixture."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from bnnbench.suites.inference_toys.mixture_posterior import (
    MixtureFactors,
    draw_points,
    elbo,
    enumerate_assignments,
    fit_prior_variance,
    lowest_mean,
    run_cavi,
    run_stochastic_vi,
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


TEN = draw_points((-2.0, 2.0), 10, np.random.default_rng(1))
START = np.array([-3.0, 1.0])


def draw_start(components: int, seed: int, prior_variance: float = 25.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=prior_variance**0.5, size=components)


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    components=st.integers(2, 3),
    prior_variance=st.floats(0.1, 100.0),
)
def test_the_bound_never_decreases_and_stays_below_the_evidence(
    seed: int, components: int, prior_variance: float
) -> None:
    points = np.random.default_rng(seed).normal(scale=3, size=6)
    start = draw_start(components, seed + 1, prior_variance)
    result = run_cavi(points, start, prior_variance, 300, 1e-12)
    assert result.largest_decrease < 1e-11
    exact = enumerate_assignments(points, components, prior_variance).log_evidence
    assert result.objective.max() <= exact + 1e-11


def test_distant_clusters_have_shrunk_means_and_a_gap_of_log_labellings() -> None:
    points = np.array([-40.0, -41.0, -39.7, 0.4, -0.3, 38.0])
    result = run_cavi(points, np.array([-30.0, 1.0, 30.0]), 100.0, 100, 1e-14)
    counts = np.array([3, 2, 1])
    sums = np.array([points[:3].sum(), points[3:5].sum(), points[5]])
    np.testing.assert_allclose(result.states[-1].loc, sums / (1 / 100 + counts))
    np.testing.assert_allclose(result.states[-1].variance, 1 / (1 / 100 + counts))
    exact = enumerate_assignments(points, 3, 100.0).log_evidence
    assert exact - result.objective[-1] == pytest.approx(np.log(6), abs=1e-6)


def bound_at(prior_variance: float, loc: np.ndarray) -> float:
    """Return the ELBO of coordinate ascent at one prior variance."""
    return float(run_cavi(TEN, loc, prior_variance, 1000, 1e-15).objective[-1])


def test_variational_em_never_decreases_the_elbo_and_reaches_its_maximum() -> None:
    fit = fit_prior_variance(TEN, START, 25.0, 100, 1e-14)
    assert fit.status == "converged" and fit.largest_decrease < 1e-12
    end = fit.states[-1]
    assert fit.objective[0] == pytest.approx(-22.1696, abs=5e-5)
    assert fit.objective[-1] == pytest.approx(bound_at(end.prior_variance, end.factors.loc))
    for factor in (0.97, 1.03):
        assert bound_at(end.prior_variance * factor, end.factors.loc) < fit.objective[-1]
    assert end.prior_variance == pytest.approx(end.second_moment / 2, rel=1e-6)
    assert len(fit_prior_variance(TEN, START, 25.0, 1, 1e-14).states) == 1


def test_full_steps_on_equal_points_equal_coordinate_ascent() -> None:
    """Every minibatch then represents all points exactly."""
    points = np.full(30, 1.3)
    exact = [q.loc for q in run_cavi(points, START, 4.0, 6, 1e-300).states]
    random = np.random.default_rng(0)
    trajectory = run_stochastic_vi(points, START, 4.0, [1.0] * 6, 7, 3, random)
    assert trajectory.shape == (7, 3, 2)
    for repetition in range(3):
        np.testing.assert_allclose(trajectory[:, repetition], exact, rtol=1e-12)


CLUSTERS = draw_points((-30.0, 30.0), 400, np.random.default_rng(2))


def errors_of_stochastic_vi(steps: list[float]) -> np.ndarray:
    """Return the differences from CAVI's fixed point, `[T + 1, R, K]`."""
    fixed_point = run_cavi(CLUSTERS, np.array([-20.0, 20.0]), 100.0, 100, 1e-14).states[-1].loc
    random = np.random.default_rng(1)
    loc = run_stochastic_vi(CLUSTERS, fixed_point, 100.0, steps, 40, 40, random)
    return loc - fixed_point


def test_constant_steps_have_the_stationary_variance_of_linear_theory() -> None:
    """For distant clusters: `step / (2 - step) * N / (B N_k)` times the cluster's variance."""
    step = 0.05
    errors = errors_of_stochastic_vi([step] * 600)
    for k, cluster in enumerate((CLUSTERS[CLUSTERS < 0], CLUSTERS[CLUSTERS > 0])):
        expected = step / (2 - step) * len(CLUSTERS) / (40 * len(cluster)) * cluster.var()
        measured = (errors[200:, :, k] ** 2).mean()
        assert measured == pytest.approx(expected, rel=0.15)  # about 800 independent squares
