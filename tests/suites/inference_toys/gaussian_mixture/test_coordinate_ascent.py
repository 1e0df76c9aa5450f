"""Coordinate ascent: known bounds, fixed points, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import (
    ascend,
    means,
    random_start,
    responsibilities,
)
from bnnbench.suites.inference_toys.gaussian_mixture.enumeration import enumerate_assignments
from bnnbench.suites.inference_toys.gaussian_mixture.model import Factors, MadeData, elbo

TEN = MadeData((-2.0, 2.0), 10, 1)


def starts(components: int, count: int = 10) -> list[np.ndarray]:
    return [random_start(components, 25.0, np.random.default_rng([0, k])) for k in range(count)]


def test_ten_starts_reach_the_known_bound_and_none_falls() -> None:
    points = TEN.draw()
    exact = enumerate_assignments(points, 2, 25.0).log_evidence
    ascents = [ascend(points, start, 25.0, 1000, 1e-13) for start in starts(2)]
    for ascent in ascents:
        assert ascent.converged and ascent.largest_fall < 1e-12
        assert ascent.elbo[-1] == pytest.approx(-22.1696, abs=5e-5)
        assert exact - ascent.elbo[-1] == pytest.approx(0.7198, abs=5e-5)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    components=st.integers(2, 3),
    prior_variance=st.floats(0.1, 100.0),
)
def test_the_bound_never_falls_and_stays_below_the_evidence(
    seed: int, components: int, prior_variance: float
) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(scale=3, size=6)
    start = random_start(components, prior_variance, random)
    ascent = ascend(points, start, prior_variance, 300, 1e-12)
    assert ascent.largest_fall < 1e-11
    exact = enumerate_assignments(points, components, prior_variance).log_evidence
    assert ascent.elbo.max() <= exact + 1e-11


def test_clusters_far_apart_have_shrunk_means_and_miss_the_labellings() -> None:
    points = np.array([-40.0, -41.0, -39.7, 0.4, -0.3, 38.0])
    ascent = ascend(points, np.array([-30.0, 1.0, 30.0]), 100.0, 100, 1e-14)
    counts = np.array([3, 2, 1])
    sums = np.array([points[:3].sum(), points[3:5].sum(), points[5]])
    np.testing.assert_allclose(ascent.loc[-1], sums / (1 / 100 + counts))
    np.testing.assert_allclose(ascent.variance[-1], 1 / (1 / 100 + counts))
    exact = enumerate_assignments(points, 3, 100.0).log_evidence
    assert exact - ascent.elbo[-1] == pytest.approx(np.log(6), abs=1e-6)


def test_the_fixed_point_is_a_maximum_of_the_bound() -> None:
    points = TEN.draw()
    ascent = ascend(points, starts(2)[0], 25.0, 1000, 1e-15)
    loc, variance = ascent.loc[-1], ascent.variance[-1]
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


def test_with_a_flat_prior_an_iteration_is_one_of_em_as_points_grow_in_number() -> None:
    """Means agree; responsibilities differ by the variances of the means, which fall as 1 / N."""
    largest = []
    for copies in (10, 1000):
        points = np.tile(np.sort(TEN.draw())[:7], copies)
        weights, loc = em_step(points, np.array([-1.0, 1.5]))
        ours, variance = means(points, weights, 1e12)
        np.testing.assert_allclose(ours, loc, rtol=1e-10)
        difference = np.abs(responsibilities(points, ours, variance) - em_step(points, loc)[0])
        largest.append(difference.max())
    assert largest[0] > 1e-4
    assert largest[0] / largest[1] == pytest.approx(100, rel=0.02)


def test_with_equal_variances_responsibilities_are_those_of_em() -> None:
    points, loc = TEN.draw(), np.array([-1.0, 1.5])
    ours = responsibilities(points, loc, np.array([0.3, 0.3]))
    np.testing.assert_allclose(ours, em_step(points, loc)[0], rtol=1e-12)


def test_iterations_may_run_out() -> None:
    ascent = ascend(TEN.draw(), starts(2)[0], 25.0, 2, 1e-13)
    assert not ascent.converged and len(ascent.elbo) == 3
