"""The fast Gaussian process, compared with the one of scikit-optimize."""

from __future__ import annotations

import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skopt.learning import GaussianProcessRegressor
from skopt.learning.gaussian_process.kernels import ConstantKernel, Matern

from bnnbench.cpp.library import Library, library
from bnnbench.search import gaussian_process
from bnnbench.search.gaussian_process import (
    AMPLITUDES,
    Array,
    MaternProcess,
    negative_log_likelihood,
)

SCALES = (0.05, 2.0)


def search_data(seed: int, points: int, inputs: int) -> tuple[Array, Array]:
    """Return points in the unit cube and losses like those of a search, with some outliers."""
    random = np.random.default_rng(seed)
    at = random.uniform(size=(points, inputs))
    losses = 3 + 5 * (at[:, 0] - 0.6) ** 2 + 0.05 * random.normal(size=points)
    return at, losses + (seed % 3 == 0) * 9 * np.exp(-30 * ((at - 0.9) ** 2).sum(1))


def skopt_process(inputs: int) -> GaussianProcessRegressor:
    lengths = Matern(np.ones(inputs), length_scale_bounds=[SCALES] * inputs, nu=2.5)
    kernel = ConstantKernel(1.0, AMPLITUDES) * lengths
    return GaussianProcessRegressor(kernel=kernel, normalize_y=True, noise="gaussian")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("points", "inputs"), [(5, 2), (20, 2), (29, 3)])
def test_it_equals_the_process_of_scikit_optimize(points: int, inputs: int, seed: int) -> None:
    """Given the same hyper-parameters; optimisers may find different local maxima."""
    at, losses = search_data(seed, points, inputs)
    theirs = skopt_process(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a length scale at its bound
        theirs.fit(at, losses)
        theta = np.append(theirs.kernel_.theta[:-1], np.log(theirs.noise_))
    squares = (at[:, None] - at).transpose(2, 0, 1) ** 2
    standardised = (losses - losses.mean()) / losses.std()
    value, _ = negative_log_likelihood(theta, squares, standardised)
    assert -value == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-6)
    with patch("bnnbench.search.gaussian_process.minimise", lambda *_: (theta, value)):
        ours = MaternProcess(SCALES).fit(at, losses)
    others = np.random.default_rng(seed).uniform(size=(7, inputs))
    for own, expected in zip(
        ours.predict(others, return_std=True), theirs.predict(others, return_std=True), strict=True
    ):
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-4)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 4))
def test_gradients_equal_finite_differences(seed: int, points: int, inputs: int) -> None:
    at, losses = search_data(seed, points, inputs)
    squares = (at[:, None] - at).transpose(2, 0, 1) ** 2
    theta = np.random.default_rng(seed).uniform(-1.5, 0.5, inputs + 2)
    _, slopes = negative_log_likelihood(theta, squares, losses)
    for k, slope in enumerate(slopes):
        step = 1e-5 * np.eye(inputs + 2)[k]
        high, _ = negative_log_likelihood(theta + step, squares, losses)
        low, _ = negative_log_likelihood(theta - step, squares, losses)
        assert slope == pytest.approx((high - low) / 2e-5, rel=1e-4, abs=1e-5)


@pytest.mark.skipif(library().code is None, reason="no compiler")
@pytest.mark.parametrize("inputs", [1, 2, 3, 9])
@pytest.mark.parametrize("points", [3, 8, 13, 30, 40])
def test_native_code_and_numpy_give_the_same_bits(points: int, inputs: int) -> None:
    at, losses = search_data(points + inputs, points, inputs)
    at[1] = at[0]
    others = np.random.default_rng(0).uniform(size=(53, inputs))
    squares = (at[:, None] - at).transpose(2, 0, 1) ** 2
    thetas = np.random.default_rng(1).uniform(-6, 4, (20, inputs + 2))

    def compute() -> list[Any]:
        process = MaternProcess(SCALES).fit(at, losses)
        found = [negative_log_likelihood(theta, squares, losses) for theta in thetas]
        return [*process.predict(others, return_std=True), process.weights_, *sum(found, ())]

    native = compute()
    with patch.object(gaussian_process, "library", Library):
        reference = compute()
    for one, other in zip(native, reference, strict=True):
        np.testing.assert_array_equal(one, other)


def test_repeated_points_and_equal_losses() -> None:
    at = np.full((6, 2), 0.5)
    found = MaternProcess(SCALES).fit(at, np.ones(6))
    mean, std = found.predict([[0.1, 0.9]], return_std=True)
    assert mean == pytest.approx(1.0) and np.isfinite(std).all()


def test_an_invalid_covariance_has_infinite_loss() -> None:
    value, slopes = negative_log_likelihood(
        np.array([0.0, 0.0, -800.0]), np.full((1, 2, 2), np.nan), np.ones(2)
    )
    assert not value < np.inf and slopes.shape == (3,)
