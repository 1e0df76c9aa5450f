"""The posterior of the clutter problem: exact values, fixed points and moments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

from bnnbench.suites.inference_toys.clutter_posterior import (
    ClutterModel,
    exact_posterior,
    expectation_propagation,
    gaussian_vi,
    importance_sampling,
    laplace,
    simulate,
    tilted_moments,
    update_site,
    variational_bayes,
)


@pytest.fixture
def minka_model() -> Callable[..., ClutterModel]:
    """Return a function of the number of observations and the seed of the data."""
    return lambda count=20, seed=0: ClutterModel(simulate(count, 2.0, 0.5, 10.0, seed)[0])


@pytest.fixture
def model(minka_model: Callable[..., ClutterModel]) -> ClutterModel:
    return minka_model()


def test_quadrature_equals_the_sum_over_all_labels() -> None:
    """Each of the `2 ** N` labellings has a conjugate posterior and evidence."""
    x, w, a, b = np.array([-1.0, 0.3, 2.2, 2.4, 5.0, 3.1]), 0.3, 8.0, 40.0
    logs, means, variances = [], [], []
    for labels in product([False, True], repeat=len(x)):
        signal = x[list(labels)]
        covariance = np.eye(len(signal)) + b
        evidence = norm.logpdf(x[[not label for label in labels]], scale=np.sqrt(a)).sum()
        evidence += sum(np.log(1 - w) if label else np.log(w) for label in labels)
        _, determinant = np.linalg.slogdet(2 * np.pi * covariance)
        evidence -= 0.5 * (determinant + signal @ np.linalg.solve(covariance, signal))
        variances.append(1 / (1 / b + len(signal)))
        means.append(variances[-1] * signal.sum())
        logs.append(evidence)
    total = logsumexp(logs)
    weights = np.exp(np.array(logs) - total)
    mean = weights @ means
    variance = weights @ (np.array(variances) + np.array(means) ** 2) - mean**2
    exact = exact_posterior(ClutterModel(x, w, a, b))
    assert exact.mean == pytest.approx(mean, abs=1e-10)
    assert exact.scale == pytest.approx(np.sqrt(variance), abs=1e-10)
    assert exact.log_evidence == pytest.approx(total, abs=1e-10)


def test_simulated_data_follow_the_mixture() -> None:
    values, is_clutter = simulate(40_000, 2.0, 0.25, 9.0, seed=1)
    assert is_clutter.mean() == pytest.approx(0.25, abs=0.01)
    signal, clutter = values[~is_clutter], values[is_clutter]
    assert (signal.mean(), signal.std()) == pytest.approx((2, 1), abs=0.03)
    assert (clutter.mean(), clutter.std()) == pytest.approx((0, 3), abs=0.1)


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


@pytest.mark.parametrize(("count", "seed"), [(20, 0), (20, 1), (200, 2)])
def test_bounds_increase_and_are_ordered(
    minka_model: Callable[..., ClutterModel], count: int, seed: int
) -> None:
    """Factorising over labels makes the bound looser than the Gaussian form alone."""
    model = minka_model(count, seed)
    bayes = variational_bayes(model, 500, 1e-12)
    bounds = bayes[:, 2, 0]
    assert (np.diff(bounds) > -1e-9).all() and len(bayes) < 500
    bound = gaussian_vi(model, *bayes[-1, :2, 0])[0, 2, 0]
    assert bounds[-1] < bound < exact_posterior(model).log_evidence


def test_gaussian_vi_is_a_local_minimum_of_reverse_kl(model: ClutterModel) -> None:
    best_mean, best_scale, best_bound = gaussian_vi(model, 2.6, 0.4)[0, :, 0]
    theta = np.linspace(best_mean - 8 * best_scale, best_mean + 8 * best_scale, 4001)
    log_joint = model.log_joint(theta)

    def bound(mean: float, scale: float) -> float:
        log_q = -0.5 * ((theta - mean) / scale) ** 2 - np.log(scale * np.sqrt(2 * np.pi))
        return float((np.exp(log_q) * (log_joint - log_q)).sum() * (theta[1] - theta[0]))

    assert bound(best_mean, best_scale) == pytest.approx(best_bound, abs=1e-8)
    for shift, stretch in ((0.01, 1.0), (-0.01, 1.0), (0.0, 1.01), (0.0, 0.99)):
        assert bound(best_mean + shift, best_scale * stretch) < best_bound


def test_laplace_matches_mode_and_curvature(model: ClutterModel) -> None:
    path = laplace(model, 500, 1e-13)
    mode, scale, log_evidence = path[-1, :, 0]
    step = 1e-3
    low, top, high = model.log_joint(mode + step * np.array([-1, 0, 1]))
    assert low < top > high
    assert scale == pytest.approx((-(low - 2 * top + high) / step**2) ** -0.5, rel=1e-5)
    expected = top + 0.5 * np.log(2 * np.pi) + np.log(scale)
    assert log_evidence == pytest.approx(expected)
    heights = model.log_joint(path[:, 0, 0])
    assert (np.diff(heights) > -1e-12).all()


def test_laplace_is_nan_where_the_log_posterior_is_convex() -> None:
    """The first step ends in the valley between two modes."""
    model = ClutterModel(np.array([-2.5, 2.5]), prior_variance=1e4)
    mode, scale, log_evidence = laplace(model, 1, 1e-12)[0, :, 0]
    assert mode == 0 and np.isnan(scale) and np.isnan(log_evidence)


def test_importance_sampling_is_unbiased(model: ClutterModel) -> None:
    exact = exact_posterior(model)
    randoms = [np.random.default_rng([5, k]) for k in range(200)]
    estimates = importance_sampling(model, (10, 1000), randoms)
    ratio = np.exp(estimates[:, 2] - exact.log_evidence)
    error = ratio[1].std() / np.sqrt(200)
    assert abs(ratio[1].mean() - 1) < 4 * error < 0.1
    few, many = np.abs(estimates[:, 0] - exact.mean).mean(axis=1)
    assert many < few / 5
    first = importance_sampling(model, (10,), [np.random.default_rng([5, 0])])
    # Larger sample sets start with the samples of smaller ones.
    assert first[0, 0, 0] == pytest.approx(estimates[0, 0, 0])
