"""Coordinate ascent: known values, a bound that never decreases, and the misprint."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.noise_precision.belief import Belief
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import run_cavi
from bnnbench.suites.inference_toys.noise_precision.exact import exact_posterior
from bnnbench.suites.inference_toys.noise_precision.model import (
    LinearModel,
    evidence_lower_bound,
    simulate,
)
from bnnbench.suites.inference_toys.noise_precision.names import CORRECTED, PRINTED


def make_model(rows: int = 20, seed: int = 0) -> LinearModel:
    return simulate(rows, 0.8, 4.0, seed, Belief(2.0, 1.0, 0.0, 1.0))


def test_known_values() -> None:
    result = run_cavi(make_model(), CORRECTED)
    q = result.belief
    assert (q.mean, q.std) == pytest.approx((4.0645, 1.1733), abs=5e-5)
    assert (q.loc, q.weight_std) == pytest.approx((0.7280, 0.0910), abs=5e-5)
    assert result.bounds[-1] == pytest.approx(-16.0341, abs=5e-5)
    assert result.bounds[8] == pytest.approx(result.bounds[-1], abs=5e-5)  # after 4 iterations


@pytest.mark.parametrize("rows", [2, 5, 20, 100])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_bound_never_decreases_and_stays_below_the_evidence(rows: int, seed: int) -> None:
    model = make_model(rows, seed)
    bounds = np.array(run_cavi(model, CORRECTED).bounds)
    assert (np.diff(bounds) > -1e-9).all() and bounds[-1] < exact_posterior(model).log_evidence


def test_it_converges_to_the_optimum_of_its_family() -> None:
    model = make_model()

    def loss(parameters: np.ndarray) -> float:
        shape, rate, loc, variance = parameters
        belief = Belief(np.exp(shape), np.exp(rate), loc, np.exp(variance))
        return -float(evidence_lower_bound(model, belief))

    result = minimize(loss, np.array([1.0, 1.0, 0.0, -1.0]), method="BFGS")
    q = run_cavi(model, CORRECTED).belief
    assert -result.fun == pytest.approx(run_cavi(model, CORRECTED).bounds[-1], abs=1e-8)
    expected = [np.log(q.shape), np.log(q.rate), q.loc, np.log(q.variance)]
    assert result.x == pytest.approx(expected, abs=1e-3)


def test_as_printed_the_bound_decreases() -> None:
    result = run_cavi(make_model(), PRINTED)
    assert (result.belief.mean, result.belief.std) == pytest.approx((0.7107, 0.4495), abs=5e-5)
    assert (result.belief.loc, result.belief.weight_std) == pytest.approx(
        (0.7007, 0.2135), abs=5e-5
    )
    assert result.bounds[-1] == pytest.approx(-27.82, abs=5e-3)
    assert np.diff(result.bounds).min() < -6


def test_both_readings_are_equal_for_one_observation() -> None:
    model = simulate(1, 0.8, 4.0, 0, Belief(2.0, 1.0, 0.0, 1.0))
    assert run_cavi(model, PRINTED).bounds == run_cavi(model, CORRECTED).bounds
