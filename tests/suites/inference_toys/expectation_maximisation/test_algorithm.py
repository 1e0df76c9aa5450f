"""EM: monotonicity, fixed points, agreement with scikit-learn and degenerate cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.suites.inference_toys.expectation_maximisation.algorithm import (
    fit,
    m_step,
    random_start,
)
from bnnbench.suites.inference_toys.expectation_maximisation.data import (
    SyntheticData,
    collapsing_start,
    petal_lengths,
)
from bnnbench.suites.inference_toys.expectation_maximisation.model import (
    Parameters,
    bound,
    posterior,
)
from bnnbench.suites.inference_toys.expectation_maximisation.references import (
    fit_scikit_learn,
    local_maximum,
)

POINTS = SyntheticData(0.4, (1.0, 4.3), (1.0, 0.8), 300, 0).draw()
LIMITS = (5000, 1e-14, 1e-10)


def start(seed: int, points: np.ndarray = POINTS) -> Parameters:
    return random_start(points, np.random.default_rng(seed))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(5, 60))
def test_the_likelihood_never_decreases_and_every_bound_is_tight(seed: int, size: int) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(size=size) + 3 * random.integers(0, 2, size)
    result = fit(points, random_start(points, random), 300, 1e-12, 1e-8)
    assert result.largest_decrease < 1e-10
    np.testing.assert_allclose(result.bound, result.log_likelihood, atol=1e-10)


def test_the_m_step_maximises_the_bound() -> None:
    q = posterior(POINTS, start(0))
    best = m_step(POINTS, q)
    assert best.weight.sum() == pytest.approx(1)
    random, maximum = np.random.default_rng(0), bound(POINTS, q, best)
    for _ in range(20):
        weight = best.weight[0] * np.exp(0.02 * random.normal())
        moved = Parameters(
            np.array([weight, 1 - weight]),
            best.loc + 0.02 * random.normal(size=2),
            best.variance * np.exp(0.02 * random.normal(size=2)),
        )
        assert bound(POINTS, q, moved) < maximum


@pytest.mark.parametrize("points", [POINTS, petal_lengths()], ids=["synthetic", "petal_lengths"])
def test_iterations_agree_with_scikit_learn(points: np.ndarray) -> None:
    result = fit(points, start(3, points), *LIMITS)
    assert result.ending.status == "converged"
    for iterations in (1, 7, len(result.parameters) - 1):
        theirs = fit_scikit_learn(points, result.parameters[0], iterations)
        np.testing.assert_allclose(
            result.parameters[iterations].flatten(), theirs.flatten(), rtol=1e-10
        )


def test_the_fixed_point_is_the_maximum_by_bfgs() -> None:
    end = fit(POINTS, start(3), *LIMITS).parameters[-1]
    np.testing.assert_allclose(local_maximum(POINTS, end).flatten(), end.flatten(), rtol=1e-5)


def test_setosas_are_separated_by_their_petal_lengths() -> None:
    """The lower component has the mean and variance of the fifty setosas."""
    points = petal_lengths()
    end = fit(points, start(3, points), *LIMITS).parameters[-1].sorted_by_mean()
    assert end.weight[0] == pytest.approx(1 / 3, abs=1e-3)
    assert end.loc[0] == pytest.approx(points[:50].mean(), abs=2e-3)
    assert end.variance[0] == pytest.approx(points[:50].var(), rel=0.03)


def test_a_collapsed_component_is_detected() -> None:
    points = np.array([0.0, 0.4, 1.1, 1.3, 2.0, 9.0])
    start = collapsing_start(points)
    assert start.loc[0] == 9.0
    result = fit(points, start, *LIMITS)
    assert result.ending.status == "collapsed" and not result.is_usable
    assert "component 1 collapsed onto y = 9" in result.ending.message
    assert np.isfinite(result.log_likelihood).all() and np.isfinite(result.bound).all()


def test_an_empty_component_is_detected() -> None:
    far = Parameters(np.array([0.5, 0.5]), np.array([1e3, 2.0]), np.array([1.0, 1.0]))
    result = fit(POINTS, far, *LIMITS)
    assert result.ending.status == "empty" and not result.is_usable
    assert "component 1 lost all its points" in result.ending.message


def test_the_number_of_iterations_is_limited() -> None:
    result = fit(POINTS, start(0), 2, 1e-14, 1e-10)
    assert result.ending.status == "unfinished" and len(result.parameters) == 3 and result.is_usable


def test_random_starts_are_two_distinct_data_values() -> None:
    ties = np.array([1.4] * 9 + [5.0])
    assert sorted(start(5, ties).loc) == [1.4, 5.0]
    assert np.array_equal(start(5, ties).variance, np.full(2, ties.var()))


def test_synthetic_data_follow_their_mixture() -> None:
    points = SyntheticData(0.25, (-9.0, 9.0), (1.0, 2.0), 20000, 1).draw()
    assert (points < 0).mean() == pytest.approx(0.25, abs=0.013)  # four standard errors
    assert points[points < 0].std() == pytest.approx(1.0, rel=0.05)
    assert points[points > 0].std() == pytest.approx(2.0, rel=0.03)
