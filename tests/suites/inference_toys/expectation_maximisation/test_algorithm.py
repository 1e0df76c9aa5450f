"""EM: monotone, at its fixed point, as scikit-learn has it, and named where it fails."""

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
    MadeData,
    petal_lengths,
    start_on_one_point,
)
from bnnbench.suites.inference_toys.expectation_maximisation.model import (
    Parameters,
    bound,
    posterior,
)
from bnnbench.suites.inference_toys.expectation_maximisation.references import (
    by_scikit_learn,
    nearest_maximum,
)

POINTS = MadeData(0.4, (1.0, 4.3), (1.0, 0.8), 300, 0).draw()
LIMITS = (5000, 1e-14, 1e-10)


def start(seed: int, points: np.ndarray = POINTS) -> Parameters:
    return random_start(points, np.random.default_rng(seed))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(5, 60))
def test_the_likelihood_never_falls_and_every_e_step_touches_it(seed: int, size: int) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(size=size) + 3 * random.integers(0, 2, size)
    found = fit(points, random_start(points, random), 300, 1e-12, 1e-8)
    assert found.largest_fall < 1e-10
    np.testing.assert_allclose(found.bound, found.log_likelihood, atol=1e-10)


def test_the_m_step_has_the_highest_bound() -> None:
    q = posterior(POINTS, start(0))
    best = m_step(POINTS, q)
    assert best.weight.sum() == pytest.approx(1)
    random, top = np.random.default_rng(0), bound(POINTS, q, best)
    for _ in range(20):
        weight = best.weight[0] * np.exp(0.02 * random.normal())
        moved = Parameters(
            np.array([weight, 1 - weight]),
            best.loc + 0.02 * random.normal(size=2),
            best.variance * np.exp(0.02 * random.normal(size=2)),
        )
        assert bound(POINTS, q, moved) < top


@pytest.mark.parametrize("points", [POINTS, petal_lengths()], ids=["made", "petals"])
def test_iterations_are_those_of_scikit_learn(points: np.ndarray) -> None:
    found = fit(points, start(3, points), *LIMITS)
    assert found.ending.status == "converged"
    for iterations in (1, 7, len(found.parameters) - 1):
        theirs = by_scikit_learn(points, found.parameters[0], iterations)
        np.testing.assert_allclose(found.parameters[iterations].flat(), theirs.flat(), rtol=1e-10)


def test_the_fixed_point_is_the_maximum_that_a_general_optimiser_finds() -> None:
    end = fit(POINTS, start(3), *LIMITS).parameters[-1]
    np.testing.assert_allclose(nearest_maximum(POINTS, end).flat(), end.flat(), rtol=1e-5)


def test_petal_lengths_split_off_the_setosas() -> None:
    """Fifty of the 150 irises, whose own mean and variance the lower component takes."""
    points = petal_lengths()
    end = fit(points, start(3, points), *LIMITS).parameters[-1].in_order()
    assert end.weight[0] == pytest.approx(1 / 3, abs=1e-3)
    assert end.loc[0] == pytest.approx(points[:50].mean(), abs=2e-3)
    assert end.variance[0] == pytest.approx(points[:50].var(), rel=0.03)


def test_a_component_on_one_point_is_caught_and_named() -> None:
    points = np.array([0.0, 0.4, 1.1, 1.3, 2.0, 9.0])
    on_one = start_on_one_point(points)
    assert on_one.loc[0] == 9.0
    found = fit(points, on_one, *LIMITS)
    assert found.ending.status == "collapsed" and not found.sound
    assert "component 1 collapsed onto y = 9" in found.ending.said
    assert np.isfinite(found.log_likelihood).all() and np.isfinite(found.bound).all()


def test_a_component_without_points_is_caught_and_named() -> None:
    far = Parameters(np.array([0.5, 0.5]), np.array([1e3, 2.0]), np.array([1.0, 1.0]))
    found = fit(POINTS, far, *LIMITS)
    assert found.ending.status == "empty" and not found.sound
    assert "component 1 lost all its points" in found.ending.said


def test_iterations_may_run_out() -> None:
    found = fit(POINTS, start(0), 2, 1e-14, 1e-10)
    assert found.ending.status == "unfinished" and len(found.parameters) == 3 and found.sound


def test_starts_are_two_values_of_the_data() -> None:
    ties = np.array([1.4] * 9 + [5.0])
    assert sorted(start(5, ties).loc) == [1.4, 5.0]
    assert np.array_equal(start(5, ties).variance, np.full(2, ties.var()))


def test_made_data_are_those_of_their_mixture() -> None:
    points = MadeData(0.25, (-9.0, 9.0), (1.0, 2.0), 20000, 1).draw()
    assert (points < 0).mean() == pytest.approx(0.25, abs=0.013)  # four errors
    assert points[points < 0].std() == pytest.approx(1.0, rel=0.05)
    assert points[points > 0].std() == pytest.approx(2.0, rel=0.03)
