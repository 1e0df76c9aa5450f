"""Synthetic data with one input: the known function, the noise and the settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.synthetic_1d import GaussianProcessSample, Sine


def test_the_sine_matches_the_book() -> None:
    table = Sine(name="toy", points=4000, data_seed=3).load()
    (split,) = table.splits
    x = table.inputs[split.train, 0]
    assert len(x) == 4000 and -1 <= x.min() < -0.99 and 0.99 < x.max() <= 1
    assert table.inputs[split.test, 0].tolist() == np.linspace(-2, 2, 401).tolist()
    assert table.truth is not None
    assert table.truth == pytest.approx(
        -(table.inputs[:, 0] + 1) * np.sin(3 * np.pi * table.inputs[:, 0])
    )
    noise = table.targets - table.truth
    for part in (split.train, split.test):
        assert noise[part].std() == pytest.approx(0.3, rel=0.1)
    again = Sine(name="toy", points=4000, data_seed=3).load()
    assert (again.targets == table.targets).all()
    other = Sine(name="toy", points=4000, data_seed=4).load()
    assert not (other.targets == table.targets).any()


@pytest.mark.slow
def test_the_function_is_a_sample_from_the_gaussian_process() -> None:
    x = np.array([-2.0, 0.0, 0.5, 3.0])
    draws = np.stack([
        GaussianProcessSample("gp_sample", data_seed=seed, length_scale=2.0).function(x)
        for seed in range(3000)
    ])  # fmt: skip
    kernel = np.exp(-((x[:, None] - x) ** 2) / 8)
    np.testing.assert_allclose(draws.T @ draws / len(draws), kernel, atol=0.08)


def test_the_sampled_function_does_not_depend_on_the_inputs() -> None:
    few, many = (
        GaussianProcessSample("gp_sample", points=n, low=-2, high=2).load() for n in (10, 4000)
    )
    assert few.truth is not None and many.truth is not None
    np.testing.assert_array_equal(few.truth[-401:], many.truth[-401:])
    x, noise = many.inputs[:4000, 0], (many.targets - many.truth)[:4000]
    for low, high in ((-2, -1.5), (1.5, 2)):
        there = (x >= low) & (x <= high)
        want = 0.3 * np.sqrt(np.mean((x[there] + 2) ** 2))
        assert noise[there].std() == pytest.approx(want, rel=0.1)


@pytest.mark.parametrize(
    ("source", "settings", "code"),
    [
        (Sine, {"points": 4}, None),
        (Sine, {"noise": -1}, None),
        (Sine, {"low": 1}, "not_less"),
        (Sine, {"grid_low": "x"}, None),
        (Sine, {"grid_high": float("inf")}, None),
        (Sine, {"grid_points": 1}, None),
        (Sine, {"data_seed": -1}, None),
        (GaussianProcessSample, {"grid_high": 30}, "out_of_range"),
        (GaussianProcessSample, {"length_scale": 0}, None),
    ],
)
def test_invalid_settings(source: type, settings: dict[str, Any], code: str | None) -> None:
    with raises_user_error(f"dataset.{next(iter(settings))}", code):
        source("toy", **settings).load()
