"""Gradient estimates: means and variances from closed forms, quadrature and autograd."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.distributions import Normal as TorchNormal

from bnnbench.suites.inference_toys.gradient_variance.estimators import (
    CONTROL_VARIATE,
    ESTIMATORS,
    PATH_DERIVATIVE,
    PATHWISE,
    SCORE,
    estimates,
    estimators_for,
    latent_estimates,
    latent_variance,
    mean_over_minibatches,
    moments_by_quadrature,
    optimal_baseline,
    quadratic_variance,
    quadrature_nodes,
    random_minibatches,
)
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    Cosine,
    LinearModel,
    Normal,
    Quadratic,
    squared_distance,
)
from bnnbench.suites.inference_toys.maths import simulate_line

MODEL = LinearModel(*simulate_line(8, 0.8, 4.0, seed=1), noise_precision=4.0, prior_precision=0.5)
QUADRATICS = (
    Quadratic(0.7, -1.2, 0.4),
    Quadratic(0.7, -1.2, 0.4, entropy=True),
    MODEL.elbo(),
)
DISTRIBUTIONS = (Normal(0.0, 1.0), Normal(-0.3, 0.2), MODEL.posterior)


@pytest.mark.parametrize(
    ("name", "expected"),
    [(SCORE, [1656.15, 235.1278, 87.0]), (CONTROL_VARIATE, [32.06, 32.54, 38.0]),
     (PATHWISE, [0.04, 0.36, 4.0])],
)  # fmt: skip
def test_squared_distance_by_hand(name: str, expected: list[float]) -> None:
    """`(z - 2)^2` at `N(0, s^2)`: score `k^4 / s^2 + 14 k^2 + 15 s^2`, pathwise `4 s^2`."""
    variances = [
        quadratic_variance(name, squared_distance(2.0), Normal(0.0, s))[0] for s in (0.1, 0.3, 1)
    ]
    assert variances == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("q", DISTRIBUTIONS)
@pytest.mark.parametrize("objective", QUADRATICS)
def test_closed_forms_match_quadrature(name: str, q: Normal, objective: Quadratic) -> None:
    if name not in estimators_for(objective):
        return
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


@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0])
def test_closed_forms_of_the_cosine(scale: float) -> None:
    """`E cos(k s e) = exp(-(k s)^2 / 2)`; pathwise: `k^2 (1 - exp(-2 (k s)^2)) / 2`."""
    k, q = 5.0, Normal(0.0, scale)
    turn = (k * scale) ** 2
    mean, variance = moments_by_quadrature(PATHWISE, Cosine(k), q)
    assert variance[0] == pytest.approx(k**2 * (1 - math.exp(-2 * turn)) / 2)
    assert mean == pytest.approx([0, -turn * math.exp(-turn / 2)])
    mean, variance = moments_by_quadrature(SCORE, Cosine(k), q)
    square = (1 + (1 - 4 * turn) * math.exp(-2 * turn)) / 2  # E[e^2 cos^2(k s e)]
    assert variance[0] == pytest.approx(square / scale**2)


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


def test_stacked_q_do_not_affect_each_other() -> None:
    noise = np.random.default_rng(0).standard_normal((2, 5))
    both = Normal(np.array([[0.1], [0.2]]), np.array([[0.5], [0.6]]))
    baseline = optimal_baseline(MODEL.elbo(), both, noise, np.full(5, 0.2))
    for name in ESTIMATORS:
        gradients = estimates(name, MODEL.elbo(), both, noise, baseline[:, None])
        for k, q in enumerate((Normal(0.1, 0.5), Normal(0.2, 0.6))):
            alone = optimal_baseline(MODEL.elbo(), q, noise[k], np.full(5, 0.2))
            assert gradients[k] == pytest.approx(estimates(name, MODEL.elbo(), q, noise[k], alone))


def test_estimators_that_sample_log_q_have_zero_variance_at_the_posterior() -> None:
    """The integrand is the log evidence there, a constant."""
    q, objective = MODEL.posterior, MODEL.elbo()
    for name in (CONTROL_VARIATE, PATH_DERIVATIVE):
        assert quadratic_variance(name, objective, q) == pytest.approx([0, 0], abs=1e-12)
    assert quadratic_variance(PATHWISE, objective, q) == pytest.approx([1 / q.scale**2, 2])
    z = np.array([-0.4, 0.2, 1.1])
    log_q = TorchNormal(q.loc, q.scale).log_prob(torch.from_numpy(z)).numpy()
    covariance = np.eye(8) / 4.0 + np.outer(MODEL.inputs, MODEL.inputs) / 0.5
    evidence = torch.distributions.MultivariateNormal(
        torch.zeros(8, dtype=torch.float64), torch.from_numpy(covariance)
    ).log_prob(torch.from_numpy(MODEL.targets))
    assert objective.value(z) - log_q == pytest.approx([evidence.item()] * 3)


@pytest.mark.parametrize("q", [MODEL.prior, Normal(0.3, 0.2)])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_the_mean_over_all_minibatches_is_the_gradient(size: int, q: Normal) -> None:
    gradient = MODEL.elbo().gradient(q)
    assert mean_over_minibatches(MODEL, q, size) == pytest.approx(gradient, rel=1e-10)
    unscaled = replace(MODEL, noise_precision=MODEL.noise_precision * size / 8)
    if size < 8:
        assert mean_over_minibatches(unscaled, q, size) != pytest.approx(gradient, rel=0.1)


def test_random_minibatches_agree_within_their_standard_error() -> None:
    q, random = Normal(0.5, 0.3), np.random.default_rng(0)
    rows = random_minibatches(8, 2, 20_000, random)
    assert rows.shape == (20_000, 2) and (rows[:, 0] != rows[:, 1]).all()
    gradients = estimates(SCORE, MODEL.elbo(rows), q, random.standard_normal(20_000))
    distance = (gradients.mean(0) - MODEL.elbo().gradient(q)) / (gradients.std(0) / 20_000**0.5)
    assert (np.abs(distance) < 4).all()


@pytest.mark.parametrize("latents", [1, 2])
def test_the_variance_for_latent_variables_matches_quadrature(latents: int) -> None:
    """Without further variables, as with Rao-Blackwellisation, it is the plain estimate's."""
    term, q = Quadratic(1.0, -0.5, 0.3), Normal(0.2, 0.8)
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    noise = np.stack(np.meshgrid(*[nodes] * latents, indexing="ij"), -1)
    joint = np.prod(np.meshgrid(*[weights / weights.sum()] * latents, indexing="ij"), axis=0)
    gradients = latent_estimates(term, q, noise)
    mean = (joint * gradients).sum()
    assert mean == pytest.approx(term.gradient(q)[0])
    variance = (joint * (gradients - mean) ** 2).sum()
    assert latent_variance(term, q, latents) == pytest.approx(variance)
    if latents == 1:
        assert variance == pytest.approx(quadratic_variance(SCORE, term, q)[0])
