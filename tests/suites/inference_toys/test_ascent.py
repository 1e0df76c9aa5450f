"""The ascent of a bound from several starts."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.suites.inference_toys.ascent import Ascent, Degenerate, ascend, best_start


def towards_one(value: float) -> float:
    if value < 0:
        raise Degenerate("negative", "negative in iteration {iteration}")
    return (1 + value) / 2


@pytest.mark.parametrize(
    ("start", "iterations", "status", "message", "steps"),
    [
        (0.0, 100, "converged", "converged after 10 iterations", 10),
        (0.0, 3, "unfinished", "not converged after 3 iterations", 3),
        (-1.0, 3, "negative", "negative in iteration 1", 0),
    ],
)
def test_an_ascent_ends(
    start: float, iterations: int, status: str, message: str, steps: int
) -> None:
    result = ascend(towards_one, start, lambda value: value, iterations, 1e-3)
    assert (result.status, result.message) == (status, message)
    assert len(result.states) == len(result.objective) == steps + 1
    assert result.is_usable == (status != "negative") and result.largest_decrease == 0


def test_the_best_start_is_not_degenerate() -> None:
    ends = {"collapsed": 9.0, "unfinished": 1.0, "converged": 2.0}
    ascents = [Ascent((0, 0), np.array([3.0, end]), name, "") for name, end in ends.items()]
    assert best_start(ascents) == 2 and ascents[1].largest_decrease == 2
