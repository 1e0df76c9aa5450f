"""Stochastic VI: its steps, its scale and where it rests."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import ascend
from bnnbench.suites.inference_toys.gaussian_mixture.model import MadeData
from bnnbench.suites.inference_toys.gaussian_mixture.stochastic import (
    Schedule,
    stochastic_ascent,
)


def test_schedules_are_powers() -> None:
    assert Schedule("constant", 0.0, 0.1).step(500) == 0.1
    falling = Schedule("decreasing", 0.75)
    assert falling.step(0) == 1.0 and falling.step(15) == pytest.approx(1 / 8)


def test_whole_steps_on_points_that_are_all_alike_are_coordinate_ascent() -> None:
    """Every minibatch then stands for all points exactly, whichever it draws."""
    points = np.full(30, 1.3)
    start = np.array([-0.5, 2.0])
    exact = ascend(points, start, 4.0, 6, 1e-300)
    whole = Schedule("whole", 0.0, 1.0)
    path = stochastic_ascent(points, start, 4.0, whole, 7, 6, 3, np.random.default_rng(0))
    assert path.shape == (7, 3, 2)
    for repetition in range(3):
        np.testing.assert_allclose(path[:, repetition], exact.loc, rtol=1e-12)


def test_constant_steps_rest_at_the_spread_that_linear_theory_gives() -> None:
    """Of clusters far apart: variance `step / (2 - step) * N / (B N_k)` times the cluster's."""
    points, batch, step = MadeData((-30.0, 30.0), 400, 2).draw(), 40, 0.05
    fixed_point = ascend(points, np.array([-20.0, 20.0]), 100.0, 100, 1e-14).loc[-1]
    constant = Schedule("constant", 0.0, step)
    random = np.random.default_rng(1)
    path = stochastic_ascent(points, fixed_point, 100.0, constant, batch, 600, 40, random)
    for k, cluster in enumerate((points[points < 0], points[points > 0])):
        expected = step / (2 - step) * len(points) / (batch * len(cluster)) * cluster.var()
        measured = ((path[200:, :, k] - fixed_point[k]) ** 2).mean()
        assert measured == pytest.approx(expected, rel=0.15)  # some 800 independent squares


def test_distances_fall_as_the_root_of_decreasing_steps() -> None:
    points = MadeData((-30.0, 30.0), 400, 2).draw()
    fixed_point = ascend(points, np.array([-20.0, 20.0]), 100.0, 100, 1e-14).loc[-1]
    falling, random = Schedule("decreasing", 0.75), np.random.default_rng(1)
    path = stochastic_ascent(points, fixed_point, 100.0, falling, 40, 2000, 40, random)
    squares = ((path - fixed_point) ** 2).mean((1, 2))
    fallen = squares[1900:].mean() / squares[190:200].mean()
    assert fallen == pytest.approx(10**-0.75, rel=0.35)
