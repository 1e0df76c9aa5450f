"""Variational Bayes, Gaussian VI, Laplace and importance sampling."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.suites.inference_toys.clutter.importance_sampling import importance_sampling
from bnnbench.suites.inference_toys.clutter.laplace import laplace
from bnnbench.suites.inference_toys.clutter.model import ClutterModel, exact_posterior, simulate
from bnnbench.suites.inference_toys.clutter.variational import gaussian_vi, variational_bayes


def simulated(count: int = 20, seed: int = 0) -> ClutterModel:
    return ClutterModel(simulate(count, 2.0, 0.5, 10.0, seed)[0])


@pytest.mark.parametrize("seed", range(5))
def test_bounds_increase_and_are_ordered(seed: int) -> None:
    """Factorising over labels makes the bound looser than the Gaussian form alone."""
    model = simulated(seed=seed)
    bayes = variational_bayes(model, 500, 1e-12)
    gaussian = gaussian_vi(model, bayes.mean[-1, 0], bayes.scale[-1, 0])
    assert (np.diff(bayes.log_evidence[:, 0]) > -1e-10).all() and len(bayes.work) < 500
    exact = exact_posterior(model).log_evidence
    assert bayes.log_evidence[-1, 0] < gaussian.bound < exact


def test_variational_bayes_converges_to_a_fixed_point() -> None:
    model = simulated()
    bayes = variational_bayes(model, 500, 1e-14)
    mean, variance = bayes.mean[-1, 0], bayes.scale[-1, 0] ** 2
    x = model.observations
    odds = np.exp(-0.5 * ((x - mean) ** 2 + variance) + 0.5 * x**2 / 10) * np.sqrt(10)
    signal = odds / (1 + odds)
    assert 1 / variance == pytest.approx(0.01 + signal.sum(), rel=1e-6)
    assert mean == pytest.approx(variance * signal @ x, rel=1e-6)


def test_gaussian_vi_is_a_local_minimum_of_reverse_kl() -> None:
    model = simulated()
    best = gaussian_vi(model, 2.6, 0.4)
    exact = exact_posterior(model)
    theta = np.linspace(best.mean - 8 * best.scale, best.mean + 8 * best.scale, 4001)
    log_joint = model.log_joint(theta)

    def bound(mean: float, scale: float) -> float:
        log_q = -0.5 * ((theta - mean) / scale) ** 2 - np.log(scale * np.sqrt(2 * np.pi))
        return float((np.exp(log_q) * (log_joint - log_q)).sum() * (theta[1] - theta[0]))

    assert bound(best.mean, best.scale) == pytest.approx(best.bound, abs=1e-8)
    for shift, stretch in ((0.01, 1.0), (-0.01, 1.0), (0.0, 1.01), (0.0, 0.99)):
        assert bound(best.mean + shift, best.scale * stretch) < best.bound < exact.log_evidence


def test_laplace_matches_mode_and_curvature() -> None:
    model = simulated()
    path = laplace(model, 500, 1e-13)
    mode, scale = path.mean[-1, 0], path.scale[-1, 0]
    step = 1e-3
    low, top, high = model.log_joint(mode + step * np.array([-1, 0, 1]))
    assert low < top > high
    assert scale == pytest.approx((-(low - 2 * top + high) / step**2) ** -0.5, rel=1e-5)
    expected = top + 0.5 * np.log(2 * np.pi) + np.log(scale)
    assert path.log_evidence[-1, 0] == pytest.approx(expected)
    heights = model.log_joint(path.mean[:, 0])
    assert (np.diff(heights) > -1e-12).all()


def test_all_are_exact_for_a_gaussian_posterior() -> None:
    model = ClutterModel(np.array([0.4, 1.5, -0.2]), clutter_weight=1e-300, prior_variance=2.0)
    exact = exact_posterior(model)
    gaussian = gaussian_vi(model, 0.0, 1.0)
    assert (gaussian.mean, gaussian.scale) == pytest.approx((exact.mean, exact.scale), abs=1e-5)
    for path in (variational_bayes(model, 9, 1e-12), laplace(model, 9, 1e-12)):
        assert path.mean[-1, 0] == pytest.approx(exact.mean)
        assert path.scale[-1, 0] == pytest.approx(exact.scale)
        assert path.log_evidence[-1, 0] == pytest.approx(exact.log_evidence)


def test_laplace_is_nan_where_the_log_posterior_is_convex() -> None:
    """The first step ends in the valley between two modes."""
    model = ClutterModel(np.array([-2.5, 2.5]), prior_variance=1e4)
    path = laplace(model, 1, 1e-12)
    assert path.mean[0, 0] == 0 and np.isnan(path.scale[0, 0]) and np.isnan(path.log_evidence[0, 0])


def test_importance_sampling_is_unbiased() -> None:
    model, exact = simulated(), exact_posterior(simulated())
    randoms = [np.random.default_rng([5, k]) for k in range(200)]
    path, sizes = importance_sampling(model, (10, 1000), randoms)
    ratio = np.exp(path.log_evidence - exact.log_evidence)
    error = ratio[1].std() / np.sqrt(200)
    assert abs(ratio[1].mean() - 1) < 4 * error < 0.1
    assert (sizes >= 1 - 1e-12).all() and (sizes[1] < 1000).all()
    assert path.work.tolist() == [200, 20_000]
    assert np.abs(path.mean[1] - exact.mean).mean() < np.abs(path.mean[0] - exact.mean).mean() / 5
    first, _ = importance_sampling(model, (10,), [np.random.default_rng([5, 0])])
    # Larger sample sets start with the samples of smaller ones.
    assert first.mean[0, 0] == pytest.approx(path.mean[0, 0])
