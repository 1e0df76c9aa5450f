"""Gradient estimates and ascent: closed forms, quadrature and autograd."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch.distributions import Normal as TorchNormal

from bnnbench.suites.inference_toys.gradient_estimators import (
    CONTROL_VARIATE,
    ESTIMATORS,
    PATH_DERIVATIVE,
    PATHWISE,
    SCORE,
    KnownNoiseModel,
    Normal,
    Quadratic,
    estimates,
    estimators_for,
    gradient_ascent,
    kl,
    mean_over_minibatches,
    moments_by_quadrature,
    optimal_baseline,
    quadratic_variance,
    quadrature_nodes,
)
from bnnbench.suites.inference_toys.maths import simulate_line

MODEL = KnownNoiseModel(
    *simulate_line(8, 0.8, 4.0, seed=1), noise_precision=4.0, prior_precision=0.5
)
QUADRATICS = (
    Quadratic(0.7, -1.2, 0.4),
    Quadratic(0.7, -1.2, 0.4, entropy=True),
    MODEL.elbo(),
)
DISTRIBUTIONS = (Normal(0.0, 1.0), Normal(-0.3, 0.2), MODEL.posterior)


@pytest.mark.parametrize("objective", QUADRATICS)
def test_closed_forms_match_quadrature(objective: Quadratic) -> None:
    for name, q in product(estimators_for(objective), DISTRIBUTIONS):
        mean, variance = moments_by_quadrature(name, objective, q)
        assert mean == pytest.approx(objective.gradient(q), rel=1e-9, abs=1e-9)
        exact = quadratic_variance(name, objective, q)
        assert variance == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_the_exact_gradient_matches_autograd() -> None:
    """Uses the densities of torch instead of our coefficients."""
    parameters = torch.tensor([0.3, math.log(0.4)], dtype=torch.float64, requires_grad=True)
    x, y = torch.from_numpy(MODEL.inputs), torch.from_numpy(MODEL.targets)
    noise, weights = (torch.from_numpy(part) for part in quadrature_nodes())
    z = parameters[0] + parameters[1].exp() * noise
    likelihood = TorchNormal(z[:, None] * x, MODEL.noise_precision**-0.5).log_prob(y).sum(1)
    prior = TorchNormal(torch.zeros(1), MODEL.prior_precision**-0.5).log_prob(z)
    entropy = TorchNormal(parameters[0], parameters[1].exp()).entropy()
    elbo = weights @ (likelihood + prior) + entropy
    (gradient,) = torch.autograd.grad(elbo, parameters)
    assert MODEL.elbo().gradient(Normal(0.3, 0.4)) == pytest.approx(gradient.numpy())
    joint = MODEL.elbo().value(z.detach().numpy())
    assert joint == pytest.approx((likelihood + prior).detach().numpy())


def test_the_optimal_baseline_minimises_the_variance() -> None:
    objective, q = Quadratic(3.0, -1.2, 0.4), Normal(0.5, 0.7)
    noise, weights = quadrature_nodes()
    best = optimal_baseline(objective, q, noise, weights)
    c0, _, c2 = objective.coefficients(q)
    assert best == pytest.approx([c0 + 3 * c2, c0 + 5 * c2])

    def variance(baseline: np.ndarray) -> np.ndarray:
        gradients = estimates(CONTROL_VARIATE, objective, q, noise, baseline)
        return np.asarray(weights @ (gradients - weights @ gradients) ** 2)

    for shift in (-0.1, 0.1):
        assert (variance(best + shift) > variance(best)).all()
    assert variance(np.zeros(2)) == pytest.approx(quadratic_variance(SCORE, objective, q))


@pytest.mark.parametrize("size", [3, 8])
def test_the_mean_over_all_minibatches_is_the_gradient(size: int) -> None:
    q = Normal(0.3, 0.2)
    gradient = MODEL.elbo().gradient(q)
    assert mean_over_minibatches(MODEL, q, size) == pytest.approx(gradient, rel=1e-10)
    unscaled = replace(MODEL, noise_precision=MODEL.noise_precision * size / 8)
    if size < 8:
        assert mean_over_minibatches(unscaled, q, size) != pytest.approx(gradient, rel=0.1)


ASCENT_MODEL = KnownNoiseModel(
    *simulate_line(20, 0.8, 4.0, seed=0), noise_precision=4.0, prior_precision=1.0
)


@pytest.mark.slow
def test_every_estimator_converges_and_repetitions_differ() -> None:
    final = {}
    for name in ESTIMATORS:
        random = np.random.default_rng(1)
        divergences = gradient_ascent(name, ASCENT_MODEL, random, (300, 4, 10), learning_rate=0.05)
        assert divergences.shape == (4, 301)
        assert divergences[:, 0] == pytest.approx(kl(ASCENT_MODEL.prior, ASCENT_MODEL.posterior))
        assert len(np.unique(divergences[:, -1])) == 4 and divergences.min() >= 0
        final[name] = np.median(divergences[:, -1])
    assert final[PATH_DERIVATIVE] < final[PATHWISE] < final[SCORE] < 2
    assert final[CONTROL_VARIATE] < final[SCORE]
