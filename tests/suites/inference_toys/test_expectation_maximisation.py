"""Two Gaussians: likelihood and bound compared with their definitions, and EM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.mixture import GaussianMixture
from support.config import compose

from bnnbench.config.assemble import build
from bnnbench.suites.inference_toys.expectation_maximisation import (
    bound,
    collapsing_start,
    local_maximum,
    log_joint,
    log_likelihood,
    m_step,
    petal_lengths,
    posterior,
    random_start,
    run_em,
)

EXPERIMENT = build(compose("experiment=expectation_maximisation")).experiment
DATA: Mapping[str, np.ndarray] = {
    "synthetic": EXPERIMENT.synthetic_data(), "petal lengths": petal_lengths(),
}  # fmt: skip
POINTS = np.array([4.3, -0.2, 1.1])
THETA = np.array([[0.3, 0.7], [1.0, 4.0], [2.0, 0.5]])  # weights, means, variances


def start(points: np.ndarray, seed: int = 3) -> np.ndarray:
    return random_start(points, np.random.default_rng(seed))


def test_likelihood_and_posterior_are_those_of_the_mixture() -> None:
    first, second = 0.3 * norm.pdf(POINTS, 1.0, 2**0.5), 0.7 * norm.pdf(POINTS, 4.0, 0.5**0.5)
    assert log_likelihood(POINTS, THETA) == pytest.approx(np.log(first + second).sum())
    np.testing.assert_allclose(np.exp(log_joint(POINTS, THETA)), np.stack([first, second], 1))
    np.testing.assert_allclose(posterior(POINTS, THETA)[:, 0], first / (first + second))


@settings(max_examples=20)
@given(ones=st.lists(st.floats(0.0, 1.0, allow_subnormal=False), min_size=3, max_size=3))
def test_the_bound_is_lower_by_the_kl_divergence_to_the_posterior(ones: list[float]) -> None:
    q = np.stack([ones, 1 - np.array(ones)], 1)
    best = posterior(POINTS, THETA)
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.nansum(np.where(q > 0, q * np.log(q / best), 0.0))
    exact = log_likelihood(POINTS, THETA)
    assert exact - bound(POINTS, q, THETA) == pytest.approx(divergence, abs=1e-10)
    assert bound(POINTS, best, THETA) == pytest.approx(exact, abs=1e-12)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), size=st.integers(5, 60))
def test_the_likelihood_never_decreases_and_every_bound_is_tight(seed: int, size: int) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(size=size) + 3 * random.integers(0, 2, size)
    fit = run_em(points, random_start(points, random), 300, 1e-12, 1e-8)
    assert fit.largest_decrease < 1e-10
    bounds = [bound(points, posterior(points, theta), theta) for theta in fit.states]
    np.testing.assert_allclose(bounds, fit.objective, atol=1e-10)


def test_the_m_step_maximises_the_bound() -> None:
    points = DATA["synthetic"]
    q = posterior(points, start(points))
    best = m_step(points, q)
    assert best[0].sum() == pytest.approx(1)
    random, maximum = np.random.default_rng(0), bound(points, q, best)
    for _ in range(20):
        weight = best[0, 0] * np.exp(0.02 * random.normal())
        loc = best[1] + 0.02 * random.normal(size=2)
        variance = best[2] * np.exp(0.02 * random.normal(size=2))
        assert bound(points, q, np.array([[weight, 1 - weight], loc, variance])) < maximum


def fit_scikit_learn(points: np.ndarray, first: np.ndarray, iterations: int) -> np.ndarray:
    """Return theta after some iterations of an unregularised `GaussianMixture`."""
    weight, loc, variance = first
    mixture = GaussianMixture(
        2, covariance_type="diag", reg_covar=0.0, tol=0.0, max_iter=iterations,
        weights_init=weight, means_init=loc[:, None], precisions_init=1 / variance[:, None],
    )  # fmt: skip
    mixture.fit(points[:, None])
    return np.array([mixture.weights_, mixture.means_[:, 0], mixture.covariances_[:, 0]])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", DATA)
def test_em_agrees_with_scikit_learn_and_the_maximum_by_bfgs(name: str) -> None:
    points = DATA[name]
    fit = EXPERIMENT.run_em(points, start(points))
    assert fit.status == "converged"
    for iterations in (1, 7, len(fit.states) - 1):
        theirs = fit_scikit_learn(points, fit.states[0], iterations)
        np.testing.assert_allclose(fit.states[iterations], theirs, rtol=1e-10)
    maximum = local_maximum(points, fit.states[-1])
    np.testing.assert_allclose(maximum, fit.states[-1], rtol=1e-5)


ISOLATED = np.array([0.0, 0.4, 1.1, 1.3, 2.0, 9.0])


@pytest.mark.parametrize(
    ("points", "first", "status", "message"),
    [
        (ISOLATED, collapsing_start(ISOLATED), "collapsed", "component 1 collapsed onto y = 9 "),
        (POINTS, np.array([[0.5, 0.5], [1e3, 2.0], [1.0, 1.0]]), "empty", "component 1 lost all"),
    ],
)
def test_degenerate_components_are_detected(
    points: np.ndarray, first: np.ndarray, status: str, message: str
) -> None:
    fit = EXPERIMENT.run_em(points, first)
    assert fit.status == status and not fit.is_usable
    assert fit.message.startswith(message) and f"in iteration {len(fit.states)}" in fit.message
    assert np.isfinite(fit.objective).all()


def test_synthetic_data_follow_their_mixture() -> None:
    other = replace(EXPERIMENT, weight=0.25, loc=(-9.0, 9.0), scale=(1.0, 2.0), points=20000)
    points = other.synthetic_data()
    assert (points < 0).mean() == pytest.approx(0.25, abs=0.013)  # four standard errors
    assert points[points < 0].std() == pytest.approx(1.0, rel=0.05)
    assert points[points > 0].std() == pytest.approx(2.0, rel=0.03)
