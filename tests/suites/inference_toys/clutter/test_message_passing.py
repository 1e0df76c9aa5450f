"""ADF and EP: known fixed points, exact cases and moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bnnbench.suites.inference_toys.clutter.message_passing import (
    expectation_propagation,
    tilted_moments,
    update_site,
)
from bnnbench.suites.inference_toys.clutter.model import ClutterModel

TOLERANCE = 1e-12


def in_order(model: ClutterModel) -> np.ndarray:
    return np.arange(len(model.observations))[None]


def shuffled(model: ClutterModel, runs: int, seed: int = 0) -> np.ndarray:
    orders = np.tile(in_order(model), (runs, 1))
    return np.random.default_rng(seed).permuted(orders, axis=1)


def test_without_clutter_one_pass_is_exact() -> None:
    x = np.array([0.3, -1.2, 2.0, 0.9])
    model = ClutterModel(x, clutter_weight=1e-300, prior_variance=4.0)
    result = expectation_propagation(model, in_order(model), 30, TOLERANCE)
    variance = 1 / (1 / 4 + len(x))
    evidence = sum(
        norm.logpdf(value, variance_before * x[:i].sum(), np.sqrt(1 + variance_before))
        for i, value in enumerate(x)
        for variance_before in [1 / (1 / 4 + i)]
    )
    expected = (variance * x.sum(), np.sqrt(variance), evidence)
    assert result.estimates[1, :, 0] == pytest.approx(expected)


def test_moments_agree_with_quadrature(model: ClutterModel) -> None:
    mean, variance = 0.0, 100.0
    log_mass, tilted_mean, tilted_variance = tilted_moments(
        model.subset(np.array([4])), np.array([mean]), np.array([variance])
    )
    scale = np.sqrt(variance)

    def density(theta: float, degree: int) -> float:
        factor = np.exp(model.log_factors(np.array([[theta]]))[0, 4])
        return float(theta**degree * norm.pdf(theta, mean, scale) * factor)

    limits, points = (mean - 12 * scale, mean + 12 * scale), [model.observations[4], mean]
    mass, first, second = (
        quad(density, *limits, (k,), points=points, limit=300)[0] for k in range(3)
    )
    assert log_mass[0] == pytest.approx(np.log(mass), abs=1e-8)
    assert tilted_mean[0] == pytest.approx(first / mass, abs=1e-7)
    assert tilted_variance[0] == pytest.approx(second / mass - (first / mass) ** 2, abs=1e-6)


def test_vectorised_runs_equal_single_runs(model: ClutterModel) -> None:
    orders = shuffled(model, 3)
    both = expectation_propagation(model, orders, 5, 1e-300)
    for run, order in enumerate(orders):
        alone = expectation_propagation(model, order[None], 5, 1e-300)
        np.testing.assert_array_equal(both.estimates[..., run], alone.estimates[..., 0])
        np.testing.assert_array_equal(both.last.sites[run], alone.last.sites[0])


def test_an_update_without_a_proper_cavity_is_invalid(model: ClutterModel) -> None:
    total, old = np.array([[2.0, 1.0], [2.0, 1.0]]), np.array([[3.0, 0.5], [1.0, 0.5]])
    assert update_site(model, total, old, np.zeros(2, int)).is_valid.tolist() == [False, True]
