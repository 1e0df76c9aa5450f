"""The search that clips: what its process is told, and what it finds beside a cliff."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bnnbench.search.base import Trial, best
from bnnbench.search.bayesian_optimisation import BayesianOptimisation
from bnnbench.search.clipped_optimisation import ClippedOptimisation
from bnnbench.settings import Dimension
from bnnbench.types import UserError

SPACE = (Dimension("a", 1.0, math.e), Dimension("b", 1.0, math.e))
CLIPPED = ClippedOptimisation(label="c", iterations=20, initial_points=5)
PLAIN = BayesianOptimisation(label="b", iterations=20, initial_points=5)


def beside_a_cliff(values: dict[str, float]) -> float:
    """Highest (0) at (0.7, 0.4) of the unit square, and 90 lower where the first is below 0.5."""
    a, b = math.log(values["a"]), math.log(values["b"])
    return -((a - 0.7) ** 2) - (b - 0.4) ** 2 - 90 * max(0.0, 0.5 - a)


def found(search: BayesianOptimisation, seed: int) -> float:
    history: list[Trial] = []
    for k in range(search.iterations):
        values = search.suggest(SPACE, history, 1000 * seed + k)
        objective = beside_a_cliff(values)
        history.append(Trial(values, objective, (objective,), 0.0, 0.0))
    return best(history).objective


def test_it_tells_of_nothing_that_lies_far_above_the_median_loss() -> None:
    losses = [1.0, 2.0, 3.0, 4.0, 90.0]  # quartiles 2, 3 and 4
    assert CLIPPED.seen(losses) == [1, 2, 3, 4, 5]
    wide = ClippedOptimisation(label="c", iterations=20, ranges=50)
    assert wide.seen(losses) == losses == PLAIN.seen(losses)


def test_it_comes_closer_to_an_optimum_beside_a_cliff() -> None:
    clipped, plain = (np.mean([found(s, seed) for seed in range(3)]) for s in (CLIPPED, PLAIN))
    assert plain < clipped and clipped > -0.01


def test_its_ranges_are_a_positive_number() -> None:
    with pytest.raises(UserError, match=r"search\.ranges"):
        ClippedOptimisation(label="c", iterations=20, ranges=0)
