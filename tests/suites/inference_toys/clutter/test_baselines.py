"""Variational Bayes, Gaussian VI, Laplace and importance sampling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bnnbench.suites.inference_toys.clutter.baselines import (
    gaussian_vi,
    importance_sampling,
    laplace,
    variational_bayes,
)
from bnnbench.suites.inference_toys.clutter.model import ClutterModel, exact_posterior


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
