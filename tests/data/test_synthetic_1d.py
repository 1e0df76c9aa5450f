"""Made data with one input: what their settings say, and a function that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bnnbench.data.synthetic_1d import GaussianProcess, Sine
from bnnbench.types import UserError


def test_the_sine_is_what_the_book_says() -> None:
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


def test_a_function_is_a_draw_from_its_process() -> None:
    x = np.array([-2.0, 0.0, 0.5, 3.0])
    for length in (1.0, 2.0):
        draws = np.stack([
            GaussianProcess("gp", data_seed=seed, length_scale=length).function(x)
            for seed in range(3000)
        ])  # fmt: skip
        kernel = np.exp(-((x[:, None] - x) ** 2) / (2 * length**2))
        np.testing.assert_allclose(draws.T @ draws / len(draws), kernel, atol=0.08)


def test_a_drawn_function_does_not_depend_on_where_it_is_looked_at() -> None:
    few, many = (GaussianProcess("gp", points=n, low=-2, high=2).load() for n in (10, 4000))
    assert few.truth is not None and many.truth is not None
    np.testing.assert_array_equal(few.truth[-401:], many.truth[-401:])
    x, noise = many.inputs[:4000, 0], (many.targets - many.truth)[:4000]
    for low, high in ((-2, -1.5), (1.5, 2)):
        there = (x >= low) & (x <= high)
        want = 0.3 * np.sqrt(np.mean((x[there] + 2) ** 2))
        assert noise[there].std() == pytest.approx(want, rel=0.1)


@pytest.mark.parametrize(
    ("source", "setting", "sentence"),
    [
        (Sine, {"points": 4}, "dataset.points must be a whole number of at least 5"),
        (Sine, {"noise": -1}, "dataset.noise must be a number of at least 0"),
        (Sine, {"low": 1}, "dataset.low must be below dataset.high"),
        (Sine, {"grid_low": "x"}, "dataset.grid_low must be a finite number"),
        (Sine, {"grid_high": float("inf")}, "dataset.grid_high must be a finite number"),
        (Sine, {"grid_points": 1}, "dataset.grid_points must be a whole number of at least 2"),
        (Sine, {"data_seed": -1}, "dataset.data_seed must be a whole number of at least 0"),
        (GaussianProcess, {"grid_high": 30}, "dataset.grid_high.*15 length scales"),
        (GaussianProcess, {"length_scale": 0}, "dataset.length_scale"),
    ],
)
def test_mistakes(source: type, setting: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        source("toy", **setting).load()
