"""Stochastic gradients: both estimators converge to known optima, and (3.77) is unbiased."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.noise_precision.model import (
    LinearModel,
    LogNormal,
    evidence_lower_bound,
    run_cavi,
)
from bnnbench.suites.inference_toys.noise_precision.stochastic_gradients import (
    Budget,
    advi,
    black_box_vi,
)

BUDGET = Budget(steps=600, samples=100, learning_rate=0.1, seed=3)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def best_log_normal(model: LinearModel, full: bool) -> LogNormal:
    """Return the optimum of ADVI's family from the closed form of the bound."""

    def to_log_normal(parameters: np.ndarray) -> LogNormal:
        scale = np.diag(np.exp(parameters[2:4]))
        scale[1, 0] = parameters[4] * full
        return LogNormal(parameters[:2], scale @ scale.T)

    def loss(parameters: np.ndarray) -> float:
        return -evidence_lower_bound(model, to_log_normal(parameters))

    start = np.array([1.0, 0.5, -1.0, -2.0, 0.0])
    return to_log_normal(minimize(loss, start, method="BFGS").x)


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
def test_advi_converges_to_the_optimum_of_its_family(model: LinearModel, full: bool) -> None:
    best, records = best_log_normal(model, full), advi(model, BUDGET, full)
    last, max_bound = records[BUDGET.steps], evidence_lower_bound(model, best)
    assert max_bound - 3e-3 < evidence_lower_bound(model, last) < max_bound + 1e-9
    assert (last.mean, last.std) == pytest.approx((best.mean, best.std), rel=0.03)
    assert last.weight_std == pytest.approx(best.weight_std, rel=0.03)
    assert (last.covariance[0, 1] != 0) == full
    assert max(records) == BUDGET.steps and evidence_lower_bound(model, records[0]) < -40


@pytest.mark.slow
def test_the_score_function_converges_to_coordinate_ascent(model: LinearModel) -> None:
    path, records = run_cavi(model), black_box_vi(model, BUDGET)
    best, last = path[-1], records[BUDGET.steps]
    start = (evidence_lower_bound(model, q) for q in (records[0], path[0]))
    end = (evidence_lower_bound(model, q) for q in (last, best))
    assert next(start) == pytest.approx(next(start))  # both start at the prior
    assert next(end) == pytest.approx(next(end), abs=2e-3)
    assert (last.mean, last.std) == pytest.approx((best.mean, best.std), rel=0.03)
