"""Stochastic VI: step sizes, scaling and stationary distribution."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import run_cavi
from bnnbench.suites.inference_toys.gaussian_mixture.model import SyntheticData
from bnnbench.suites.inference_toys.gaussian_mixture.stochastic import (
    Schedule,
    run_stochastic_vi,
)


def test_schedules_are_powers() -> None:
    assert Schedule("constant", 0.0, 0.1).step_size(500) == 0.1
    decreasing = Schedule("decreasing", 0.75)
    assert decreasing.step_size(0) == 1.0 and decreasing.step_size(15) == pytest.approx(1 / 8)


def test_full_steps_on_equal_points_equal_coordinate_ascent() -> None:
    """Every minibatch then represents all points exactly."""
    points = np.full(30, 1.3)
    start = np.array([-0.5, 2.0])
    exact = run_cavi(points, start, 4.0, 6, 1e-300)
    whole = Schedule("whole", 0.0, 1.0)
    trajectory = run_stochastic_vi(points, start, 4.0, whole, 7, 6, 3, np.random.default_rng(0))
    assert trajectory.shape == (7, 3, 2)
    for repetition in range(3):
        np.testing.assert_allclose(trajectory[:, repetition], exact.loc, rtol=1e-12)


def test_constant_steps_have_the_stationary_variance_of_linear_theory() -> None:
    """For distant clusters: `step / (2 - step) * N / (B N_k)` times the cluster's variance."""
    points, batch, step = SyntheticData((-30.0, 30.0), 400, 2).draw(), 40, 0.05
    fixed_point = run_cavi(points, np.array([-20.0, 20.0]), 100.0, 100, 1e-14).loc[-1]
    constant = Schedule("constant", 0.0, step)
    random = np.random.default_rng(1)
    trajectory = run_stochastic_vi(points, fixed_point, 100.0, constant, batch, 600, 40, random)
    for k, cluster in enumerate((points[points < 0], points[points > 0])):
        expected = step / (2 - step) * len(points) / (batch * len(cluster)) * cluster.var()
        measured = ((trajectory[200:, :, k] - fixed_point[k]) ** 2).mean()
        assert measured == pytest.approx(expected, rel=0.15)  # about 800 independent squares


def test_distances_decrease_as_the_root_of_the_step_size() -> None:
    points = SyntheticData((-30.0, 30.0), 400, 2).draw()
    fixed_point = run_cavi(points, np.array([-20.0, 20.0]), 100.0, 100, 1e-14).loc[-1]
    decreasing, random = Schedule("decreasing", 0.75), np.random.default_rng(1)
    trajectory = run_stochastic_vi(points, fixed_point, 100.0, decreasing, 40, 2000, 40, random)
    squares = ((trajectory - fixed_point) ** 2).mean((1, 2))
    ratio = squares[1900:].mean() / squares[190:200].mean()
    assert ratio == pytest.approx(10**-0.75, rel=0.35)
