"""Bayesian optimisation: determinism, diverged trials, and whether it finds the optimum."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from bnnbench.search.base import Trial, best
from bnnbench.search.bayesian_optimisation import BayesianOptimisation
from bnnbench.settings import Dimension
from bnnbench.types import UserError

SPACE = (Dimension("noise_precision", 1.0, math.exp(5)), Dimension("prior_precision", 0.02, 50.0))
BO = BayesianOptimisation(label="bo", iterations=30, initial_points=5)


def trial(values: dict[str, float], objective: float) -> Trial:
    return Trial(values, objective, (objective,), 1.0, 0.1)


def objective(values: dict[str, float]) -> float:
    """A bowl in the logarithms, highest (0) at noise e^3 and prior e^-1."""
    a, b = math.log(values["noise_precision"]) - 3, math.log(values["prior_precision"]) + 1
    return -(a**2) - 0.3 * b**2


@cache
def run(iterations: int, seed: int = 0) -> list[Trial]:
    """A search of so many trials: that of one trial less, and one more."""
    if iterations == 0:
        return []
    history = run(iterations - 1, seed)
    values = BO.suggest(SPACE, history, 1000 * seed + iterations - 1)
    return [*history, trial(values, objective(values))]


def test_finds_the_optimum_where_random_search_does_not() -> None:
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


def test_suggestions_stay_inside_and_are_plain_floats() -> None:
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


def test_a_diverged_trial_counts_as_the_worst_finite_one() -> None:
    history = run(6)
    worst = min(t.objective for t in history)
    odd = history[2].values
    with_nan = [*history, trial(odd, math.nan)]
    with_worst = [*history, trial(odd, worst)]
    assert BO.suggest(SPACE, with_nan, 3) == BO.suggest(SPACE, with_worst, 3)
    assert best(with_nan) == best(history)


def test_all_diverged_is_survived() -> None:
    history = [trial(t.values, math.nan) for t in run(6)]
    assert BO.suggest(SPACE, history, 1).keys() == {d.name for d in SPACE}
    assert best(history) == history[0]


@pytest.mark.parametrize(
    "settings",
    [
        {"iterations": 0},
        {"iterations": 3, "initial_points": 4},
        {"folds": 1},
        {"objective": "log_likelihood"},
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"search\."):
        BayesianOptimisation(label="bo", **{"iterations": 30, **settings})
