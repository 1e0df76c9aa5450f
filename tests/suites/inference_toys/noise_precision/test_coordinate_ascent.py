"""Coordinate ascent: known answers, a bound that never falls, and the misprint that makes it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.noise_precision.belief import Belief
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import ascend
from bnnbench.suites.inference_toys.noise_precision.exact import posterior
from bnnbench.suites.inference_toys.noise_precision.model import (
    Line,
    evidence_lower_bound,
    simulate,
)
from bnnbench.suites.inference_toys.noise_precision.tables import CORRECTED, PRINTED


def line_of(rows: int = 20, seed: int = 0) -> Line:
    return simulate(rows, 0.8, 4.0, seed, Belief(2.0, 1.0, 0.0, 1.0))


def test_answers_are_those_on_record() -> None:
    found = ascend(line_of(), CORRECTED)
    q = found.belief
    assert (q.mean, q.std) == pytest.approx((4.0645, 1.1733), abs=5e-5)
    assert (q.loc, q.weight_std) == pytest.approx((0.7280, 0.0910), abs=5e-5)
    assert found.bounds[-1] == pytest.approx(-16.0341, abs=5e-5)
    assert found.bounds[8] == pytest.approx(found.bounds[-1], abs=5e-5)  # after 4 iterations


@pytest.mark.parametrize("rows", [2, 5, 20, 100])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_bound_never_falls_and_stays_below_the_evidence(rows: int, seed: int) -> None:
    line = line_of(rows, seed)
    bounds = np.array(ascend(line, CORRECTED).bounds)
    assert (np.diff(bounds) > -1e-9).all() and bounds[-1] < posterior(line).log_evidence


def test_it_ends_at_the_best_of_its_family() -> None:
    line = line_of()

    def loss(free: np.ndarray) -> float:
        shape, rate, loc, variance = free
        belief = Belief(np.exp(shape), np.exp(rate), loc, np.exp(variance))
        return -float(evidence_lower_bound(line, belief))

    found = minimize(loss, np.array([1.0, 1.0, 0.0, -1.0]), method="BFGS")
    q = ascend(line, CORRECTED).belief
    assert -found.fun == pytest.approx(ascend(line, CORRECTED).bounds[-1], abs=1e-8)
    expected = [np.log(q.shape), np.log(q.rate), q.loc, np.log(q.variance)]
    assert found.x == pytest.approx(expected, abs=1e-3)


def test_as_printed_the_bound_falls() -> None:
    found = ascend(line_of(), PRINTED)
    assert (found.belief.mean, found.belief.std) == pytest.approx((0.7107, 0.4495), abs=5e-5)
    assert (found.belief.loc, found.belief.weight_std) == pytest.approx((0.7007, 0.2135), abs=5e-5)
    assert found.bounds[-1] == pytest.approx(-27.82, abs=5e-3)
    assert np.diff(found.bounds).min() < -6


def test_both_readings_are_one_for_a_single_observation() -> None:
    line = simulate(1, 0.8, 4.0, 0, Belief(2.0, 1.0, 0.0, 1.0))
    assert ascend(line, PRINTED).bounds == ascend(line, CORRECTED).bounds
