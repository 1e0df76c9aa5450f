"""Stochastic gradients: both estimators converge to known optima, and (3.77) is unbiased."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.noise_precision.belief import Belief
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import run_cavi
from bnnbench.suites.inference_toys.noise_precision.log_normal import LogNormal, log_normal_elbo
from bnnbench.suites.inference_toys.noise_precision.model import LinearModel, simulate
from bnnbench.suites.inference_toys.noise_precision.names import CORRECTED
from bnnbench.suites.inference_toys.noise_precision.stochastic_gradients import (
    Budget,
    advi,
    black_box_vi,
)

BUDGET = Budget(steps=600, samples=100, learning_rate=0.1, seed=3)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def make_model() -> LinearModel:
    return simulate(20, 0.8, 4.0, 0, Belief(2.0, 1.0, 0.0, 1.0))


def best_log_normal(model: LinearModel, full: bool) -> LogNormal:
    """Return the optimum of ADVI's family from the closed form of the bound."""

    def to_log_normal(parameters: np.ndarray) -> LogNormal:
        scale = np.diag(np.exp(parameters[2:4]))
        scale[1, 0] = parameters[4] * full
        return LogNormal(parameters[:2], scale @ scale.T)

    start = np.array([1.0, 0.5, -1.0, -2.0, 0.0])
    return to_log_normal(
        minimize(
            lambda parameters: -log_normal_elbo(model, to_log_normal(parameters)),
            start,
            method="BFGS",
        ).x
    )


@pytest.mark.parametrize("full", [False, True])
def test_advi_converges_to_the_optimum_of_its_family(full: bool) -> None:
    model = make_model()
    best, result = best_log_normal(model, full), advi(model, BUDGET, full)
    assert result.bounds[-1] == pytest.approx(log_normal_elbo(model, best), abs=3e-3)
    assert result.bounds[-1] < log_normal_elbo(model, best) + 1e-9
    assert (result.q.mean, result.q.std) == pytest.approx((best.mean, best.std), rel=0.03)
    assert result.q.weight_std == pytest.approx(best.weight_std, rel=0.03)
    assert (result.q.covariance[0, 1] != 0) == full
    assert result.steps[0] == 0 and result.steps[-1] == BUDGET.steps
    assert result.bounds[0] < -40


def test_the_score_function_converges_to_coordinate_ascent() -> None:
    model = make_model()
    best, result = run_cavi(model, CORRECTED), black_box_vi(model, BUDGET)
    assert result.bounds[0] == pytest.approx(best.bounds[0])  # both start at the prior
    assert result.bounds[-1] == pytest.approx(best.bounds[-1], abs=2e-3)
    assert (result.q.mean, result.q.std) == pytest.approx(
        (best.belief.mean, best.belief.std), rel=0.03
    )


def test_the_seed_determines_the_result() -> None:
    model, short = make_model(), Budget(steps=5, samples=10, learning_rate=0.1, seed=1)
    other = Budget(steps=5, samples=10, learning_rate=0.1, seed=2)
    assert black_box_vi(model, short).means == black_box_vi(model, short).means
    assert black_box_vi(model, short).means != black_box_vi(model, other).means
    assert advi(model, short, True).means != advi(model, other, True).means
