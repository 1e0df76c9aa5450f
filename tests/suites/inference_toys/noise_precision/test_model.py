"""Coordinate ascent: known values, a bound that never decreases, and the misprint."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.noise_precision.model import (
    Belief,
    LinearModel,
    evidence_lower_bound,
    exact_posterior,
    kl_to_posterior,
    run_cavi,
)


def bounds_of(model: LinearModel, printed: bool = False) -> np.ndarray:
    beliefs = run_cavi(model, printed)
    return np.array([evidence_lower_bound(model, belief) for belief in beliefs])


@pytest.mark.parametrize(("rows", "seed"), [(2, 0), (20, 1)])
def test_the_bound_never_decreases_and_stays_below_the_evidence(
    make_model: Callable[..., LinearModel], rows: int, seed: int
) -> None:
    """The gap is KL(q || posterior) after every update, (3.6)."""
    model = make_model(rows, seed)
    exact, bounds = exact_posterior(model), bounds_of(model)
    assert (np.diff(bounds) > -1e-9).all() and bounds[-1] < exact.log_evidence
    gaps = [kl_to_posterior(model, exact, belief) for belief in run_cavi(model)]
    assert bounds + gaps == pytest.approx(np.full(len(gaps), exact.log_evidence), abs=1e-6)


def test_it_converges_to_the_optimum_of_its_family(model: LinearModel) -> None:
    def loss(parameters: np.ndarray) -> float:
        shape, rate, weight_mean, variance = parameters
        belief = Belief(np.exp(shape), np.exp(rate), weight_mean, np.exp(variance))
        return -evidence_lower_bound(model, belief)

    result = minimize(loss, np.array([1.0, 1.0, 0.0, -1.0]), method="BFGS")
    q = run_cavi(model)[-1]
    assert -result.fun == pytest.approx(evidence_lower_bound(model, q), abs=1e-8)
    expected = [np.log(q.shape), np.log(q.rate), q.weight_mean, np.log(q.variance)]
    assert result.x == pytest.approx(expected, abs=1e-3)


def test_both_readings_are_equal_for_one_observation(
    make_model: Callable[..., LinearModel],
) -> None:
    assert run_cavi(make_model(1), printed=True) == run_cavi(make_model(1))
