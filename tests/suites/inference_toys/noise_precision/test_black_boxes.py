"""Stochastic gradients: both estimators find optima that are known, and (3.77) is unbiased."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.noise_precision.belief import Belief
from bnnbench.suites.inference_toys.noise_precision.black_boxes import Budget, advi, black_box
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import ascend
from bnnbench.suites.inference_toys.noise_precision.log_normal import LogNormal, log_normal_bound
from bnnbench.suites.inference_toys.noise_precision.model import Line, simulate
from bnnbench.suites.inference_toys.noise_precision.tables import CORRECTED

BUDGET = Budget(steps=600, samples=100, learning_rate=0.1, seed=3)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def line_of() -> Line:
    return simulate(20, 0.8, 4.0, 0, Belief(2.0, 1.0, 0.0, 1.0))


def best_log_normal(line: Line, full: bool) -> LogNormal:
    """The optimum of ADVI's family, by the bound's closed form and no sample."""

    def of(free: np.ndarray) -> LogNormal:
        scale = np.diag(np.exp(free[2:4]))
        scale[1, 0] = free[4] * full
        return LogNormal(free[:2], scale @ scale.T)

    start = np.array([1.0, 0.5, -1.0, -2.0, 0.0])
    return of(minimize(lambda free: -log_normal_bound(line, of(free)), start, method="BFGS").x)


@pytest.mark.parametrize("full", [False, True])
def test_advi_comes_to_the_best_of_its_family(full: bool) -> None:
    line = line_of()
    best, found = best_log_normal(line, full), advi(line, BUDGET, full)
    assert found.bounds[-1] == pytest.approx(log_normal_bound(line, best), abs=3e-3)
    assert found.bounds[-1] < log_normal_bound(line, best) + 1e-9
    assert (found.q.mean, found.q.std) == pytest.approx((best.mean, best.std), rel=0.03)
    assert found.q.weight_std == pytest.approx(best.weight_std, rel=0.03)
    assert (found.q.covariance[0, 1] != 0) == full
    assert found.steps[0] == 0 and found.steps[-1] == BUDGET.steps
    assert found.bounds[0] < -40


def test_the_score_function_comes_to_coordinate_ascent() -> None:
    line = line_of()
    best, found = ascend(line, CORRECTED), black_box(line, BUDGET)
    assert found.bounds[0] == pytest.approx(best.bounds[0])  # both start at the prior
    assert found.bounds[-1] == pytest.approx(best.bounds[-1], abs=2e-3)
    assert (found.q.mean, found.q.std) == pytest.approx(
        (best.belief.mean, best.belief.std), rel=0.03
    )


def test_a_seed_is_a_run() -> None:
    line, short = line_of(), Budget(steps=5, samples=10, learning_rate=0.1, seed=1)
    other = Budget(steps=5, samples=10, learning_rate=0.1, seed=2)
    assert black_box(line, short).means == black_box(line, short).means
    assert black_box(line, short).means != black_box(line, other).means
    assert advi(line, short, True).means != advi(line, other, True).means
