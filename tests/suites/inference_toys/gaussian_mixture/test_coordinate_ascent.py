"""Coordinate result: known bounds, fixed points, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import (
    random_start,
    responsibilities,
    run_cavi,
    update_means,
)
from bnnbench.suites.inference_toys.gaussian_mixture.enumeration import enumerate_assignments
from bnnbench.suites.inference_toys.gaussian_mixture.model import Factors, SyntheticData, elbo

TEN = SyntheticData((-2.0, 2.0), 10, 1)


def starts(components: int, count: int = 10) -> list[np.ndarray]:
    return [random_start(components, 25.0, np.random.default_rng([0, k])) for k in range(count)]


def test_ten_starts_reach_the_known_bound_and_never_decrease() -> None:
    points = TEN.draw()
    exact = enumerate_assignments(points, 2, 25.0).log_evidence
    for start in starts(2):
        result = run_cavi(points, start, 25.0, 1000, 1e-13)
        assert result.converged and result.largest_decrease < 1e-12
        assert result.elbo[-1] == pytest.approx(-22.1696, abs=5e-5)
        assert exact - result.elbo[-1] == pytest.approx(0.7198, abs=5e-5)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    components=st.integers(2, 3),
    prior_variance=st.floats(0.1, 100.0),
)
def test_the_bound_never_decreases_and_stays_below_the_evidence(
    seed: int, components: int, prior_variance: float
) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(scale=3, size=6)
    start = random_start(components, prior_variance, random)
    result = run_cavi(points, start, prior_variance, 300, 1e-12)
    assert result.largest_decrease < 1e-11
    exact = enumerate_assignments(points, components, prior_variance).log_evidence
    assert result.elbo.max() <= exact + 1e-11


def test_distant_clusters_have_shrunk_means_and_a_gap_of_log_labellings() -> None:
    points = np.array([-40.0, -41.0, -39.7, 0.4, -0.3, 38.0])
    result = run_cavi(points, np.array([-30.0, 1.0, 30.0]), 100.0, 100, 1e-14)
    counts = np.array([3, 2, 1])
    sums = np.array([points[:3].sum(), points[3:5].sum(), points[5]])
    np.testing.assert_allclose(result.loc[-1], sums / (1 / 100 + counts))
    np.testing.assert_allclose(result.variance[-1], 1 / (1 / 100 + counts))
    exact = enumerate_assignments(points, 3, 100.0).log_evidence
    assert exact - result.elbo[-1] == pytest.approx(np.log(6), abs=1e-6)


def test_the_fixed_point_is_a_maximum_of_the_bound() -> None:
    points = TEN.draw()
    result = run_cavi(points, starts(2)[0], 25.0, 1000, 1e-15)
    loc, variance = result.loc[-1], result.variance[-1]
    weights = responsibilities(points, loc, variance)
    top = elbo(points, Factors(loc, variance, weights), 25.0)
    random = np.random.default_rng(0)
    for _ in range(20):
        moved = Factors(
            loc + 0.02 * random.normal(size=2),
            variance * np.exp(0.02 * random.normal(size=2)),
            responsibilities(points, loc + 0.02 * random.normal(size=2), variance),
        )
        assert elbo(points, moved, 25.0) < top


def em_step(points: np.ndarray, loc: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Responsibilities and next means of EM for unit variances and equal weights."""
    density = np.exp(-0.5 * (points[:, None] - loc) ** 2)
    weights = density / density.sum(1, keepdims=True)
    return weights, points @ weights / weights.sum(0)


def test_with_a_flat_prior_an_iteration_approaches_one_of_em() -> None:
    """Means agree; responsibilities differ by the variances of the means, of order 1 / N."""
    max_differences = []
    for copies in (10, 1000):
        points = np.tile(np.sort(TEN.draw())[:7], copies)
        weights, loc = em_step(points, np.array([-1.0, 1.5]))
        ours, variance = update_means(points, weights, 1e12)
        np.testing.assert_allclose(ours, loc, rtol=1e-10)
        difference = np.abs(responsibilities(points, ours, variance) - em_step(points, loc)[0])
        max_differences.append(difference.max())
    assert max_differences[0] > 1e-4
    assert max_differences[0] / max_differences[1] == pytest.approx(100, rel=0.02)


def test_with_equal_variances_responsibilities_equal_those_of_em() -> None:
    points, loc = TEN.draw(), np.array([-1.0, 1.5])
    ours = responsibilities(points, loc, np.array([0.3, 0.3]))
    np.testing.assert_allclose(ours, em_step(points, loc)[0], rtol=1e-12)


def test_maximum_number_of_iterations() -> None:
    result = run_cavi(TEN.draw(), starts(2)[0], 25.0, 2, 1e-13)
    assert not result.converged and len(result.elbo) == 3
