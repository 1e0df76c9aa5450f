"""Bayesian optimisation: determinism, diverged trials, and finding the optimum."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from skopt import Optimizer
from skopt.space import Real
from support.user_errors import raises_user_error

from bnnbench.search import bayesian_optimisation
from bnnbench.search.base import Trial, best
from bnnbench.search.bayesian_optimisation import LENGTH_SCALES, BayesianOptimisation
from bnnbench.search.gaussian_process import MaternProcess
from bnnbench.settings import Dimension

SPACE = (Dimension("noise_precision", 1.0, math.exp(5)), Dimension("prior_precision", 0.02, 50.0))
BO = BayesianOptimisation(label="bayesian_optimisation", iterations=30, initial_points=5)


def trial(values: dict[str, float], objective: float) -> Trial:
    return Trial(values, objective, (objective,), 1.0, 0.1)


def objective(values: dict[str, float]) -> float:
    """A quadratic function of the logarithms with maximum 0 at noise e^3 and prior e^-1."""
    a, b = math.log(values["noise_precision"]) - 3, math.log(values["prior_precision"]) + 1
    return -(a**2) - 0.3 * b**2


@cache
def run(iterations: int, seed: int = 0) -> list[Trial]:
    """Return the trials of a search, extending the cached search with one trial less."""
    if iterations == 0:
        return []
    history = run(iterations - 1, seed)
    values = BO.suggest(SPACE, history, 1000 * seed + iterations - 1)
    return [*history, trial(values, objective(values))]


@pytest.mark.slow
def test_it_finds_the_optimum_unlike_random_search() -> None:
    found = [best(run(20, seed)).objective for seed in range(3)]
    rng = np.random.default_rng(0)
    random = [
        max(
            objective({d.name: d.low * (d.high / d.low) ** rng.uniform() for d in SPACE})
            for _ in range(20)
        )
        for _ in range(3)
    ]
    assert np.mean(found) > -0.02 > np.mean(random)


def test_suggestions_are_floats_within_bounds() -> None:
    for finished in run(12):
        for dimension in SPACE:
            value = finished.values[dimension.name]
            assert type(value) is float
            assert dimension.low <= value <= dimension.high * (1 + 1e-12)


def test_a_suggestion_is_a_function_of_history_and_seed() -> None:
    history = run(8)
    assert BO.suggest(SPACE, history, 5) == BO.suggest(SPACE, list(history), 5)
    assert BO.suggest(SPACE, history[:3], 5) == BO.suggest(SPACE, history[1:4], 5)
    assert BO.suggest(SPACE, history[:3], 5) != BO.suggest(SPACE, history[:3], 6)


class Regressor(RegressorMixin, BaseEstimator, MaternProcess):
    """The Gaussian process, as `skopt.Optimizer` needs it."""

    def __init__(self, length_scales: tuple[float, float] = LENGTH_SCALES) -> None:
        super().__init__(length_scales)


def suggest_with_optimizer(points: np.ndarray, losses: list[float], seed: int) -> list[float]:
    optimizer = Optimizer(
        [Real(0.0, 1.0) for _ in points.T],
        base_estimator=Regressor(),
        n_initial_points=len(points),
        acq_func="EI",
        acq_optimizer="sampling",
        acq_optimizer_kwargs={"n_points": bayesian_optimisation.CANDIDATES},
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a repeated point
        optimizer.tell(points.tolist(), losses)
        return list(map(float, optimizer.ask()))


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_suggestions_equal_those_of_scikit_optimize(
    dimensions: int, repeated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, also where a random point replaces a repeated one."""
    random = np.random.default_rng(dimensions)
    points, losses = random.uniform(size=(9, dimensions)), random.normal(size=9).tolist()
    if repeated:  # the only candidate
        monkeypatch.setattr(bayesian_optimisation, "CANDIDATES", 1)
        points[0] = suggest_with_optimizer(points, losses, 7)
    monkeypatch.setattr(bayesian_optimisation, "_normalise", lambda *_: points)
    history = [trial({}, -loss) for loss in losses]
    space = [Dimension(f"h{k}", 1.0, 2.0) for k in range(dimensions)]
    found = bayesian_optimisation._expected_improvement(space, history, 7)
    assert found == suggest_with_optimizer(points, losses, 7)
    assert found not in points.tolist()


def test_a_diverged_trial_counts_as_the_worst_finite_one() -> None:
    history = run(6)
    worst = min(t.objective for t in history)
    odd = history[2].values
    with_nan = [*history, trial(odd, math.nan)]
    with_worst = [*history, trial(odd, worst)]
    assert BO.suggest(SPACE, with_nan, 3) == BO.suggest(SPACE, with_worst, 3)
    assert best(with_nan) == best(history)


def test_all_trials_may_diverge() -> None:
    history = [trial(t.values, math.nan) for t in run(6)]
    assert BO.suggest(SPACE, history, 1).keys() == {d.name for d in SPACE}
    assert best(history) == history[0]


@pytest.mark.parametrize(
    ("settings", "key"),
    [({"iterations": 0}, "iterations"), ({"folds": 1}, "folds"), ({"objective": "x"}, "objective")],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], key: str) -> None:
    with raises_user_error(f"search.{key}"):
        BayesianOptimisation(label="bayesian_optimisation", **{"iterations": 30, **settings})
