"""Gradient estimates: closed forms of mean and variance, against quadrature and autograd."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal as TorchNormal

from bnnbench.suites.inference_toys.gradient_variance.estimators import (
    baseline_of,
    best_baseline,
    estimates,
    estimators_of,
    exact_moments,
    nodes,
    quadratic_variance,
)
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    Normal,
    Quadratic,
    Wave,
    simulate,
    squared_distance,
)
from bnnbench.suites.inference_toys.gradient_variance.tables import (
    CONTROLLED,
    ESTIMATORS,
    PATH_DERIVATIVE,
    PATHWISE,
    SCORE,
)

LINE = simulate(rows=8, weight=0.8, noise_precision=4.0, prior_precision=0.5, seed=1)
QUADRATICS = (
    Quadratic(0.7, -1.2, 0.4),
    Quadratic(0.7, -1.2, 0.4, entropy=True),
    LINE.elbo(),
)
PLACES = (Normal(0.0, 1.0), Normal(-0.3, 0.2), LINE.posterior)


@pytest.mark.parametrize(
    ("name", "by_mean"),
    [(SCORE, [1656.15, 235.1278, 87.0]), (CONTROLLED, [32.06, 32.54, 38.0]),
     (PATHWISE, [0.04, 0.36, 4.0])],
)  # fmt: skip
def test_squared_distance_by_hand(name: str, by_mean: list[float]) -> None:
    """`(z - 2)^2` at `N(0, s^2)`: score `k^4 / s^2 + 14 k^2 + 15 s^2`, pathwise `4 s^2`."""
    found = [
        quadratic_variance(name, squared_distance(2.0), Normal(0.0, s))[0] for s in (0.1, 0.3, 1)
    ]
    assert found == pytest.approx(by_mean, rel=1e-5)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("q", PLACES)
@pytest.mark.parametrize("objective", QUADRATICS)
def test_closed_forms_are_quadrature(name: str, q: Normal, objective: Quadratic) -> None:
    if name not in estimators_of(objective):
        return
    mean, variance = exact_moments(name, objective, q)
    assert mean == pytest.approx(objective.gradient(q), rel=1e-9, abs=1e-9)
    exact = quadratic_variance(name, objective, q)
    assert variance == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_the_exact_gradient_is_that_of_the_elbo_by_autograd() -> None:
    """With the densities of torch instead of our coefficients."""
    place = torch.tensor([0.3, math.log(0.4)], dtype=torch.float64, requires_grad=True)
    x, y = torch.from_numpy(LINE.inputs), torch.from_numpy(LINE.targets)
    noise, weights = (torch.from_numpy(part) for part in nodes())
    z = place[0] + place[1].exp() * noise
    likelihood = TorchNormal(z[:, None] * x, LINE.noise_precision**-0.5).log_prob(y).sum(1)
    prior = TorchNormal(torch.zeros(1), LINE.prior_precision**-0.5).log_prob(z)
    entropy = TorchNormal(place[0], place[1].exp()).entropy()
    elbo = weights @ (likelihood + prior) + entropy
    (gradient,) = torch.autograd.grad(elbo, place)
    assert LINE.elbo().gradient(Normal(0.3, 0.4)) == pytest.approx(gradient.numpy())
    joint = LINE.elbo().value(z.detach().numpy())
    assert joint == pytest.approx((likelihood + prior).detach().numpy())


@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0])
def test_the_wave_has_closed_forms_too(scale: float) -> None:
    """`E cos(k s e) = exp(-(k s)^2 / 2)`: pathwise by the mean `k^2 (1 - exp(-2 (k s)^2)) / 2`."""
    k, q = 5.0, Normal(0.0, scale)
    turn = (k * scale) ** 2
    mean, variance = exact_moments(PATHWISE, Wave(k), q)
    assert variance[0] == pytest.approx(k**2 * (1 - math.exp(-2 * turn)) / 2)
    assert mean == pytest.approx([0, -turn * math.exp(-turn / 2)])
    mean, variance = exact_moments(SCORE, Wave(k), q)
    square = (1 + (1 - 4 * turn) * math.exp(-2 * turn)) / 2  # E[e^2 cos^2(k s e)]
    assert variance[0] == pytest.approx(square / scale**2)


def test_the_score_function_is_the_better_one_on_a_fast_wave() -> None:
    q = Normal(0.0, 1.0)
    score, path = (exact_moments(name, Wave(5.0), q)[1] for name in (SCORE, PATHWISE))
    assert (score < path / 10).all()


def test_the_best_baseline_is_the_best() -> None:
    objective, q = Quadratic(3.0, -1.2, 0.4), Normal(0.5, 0.7)
    best = best_baseline(objective, q)
    c0, _, c2 = objective.around(q)
    assert best == pytest.approx([c0 + 3 * c2, c0 + 5 * c2])
    noise, weights = nodes()

    def variance(baseline: np.ndarray) -> np.ndarray:
        found = estimates(CONTROLLED, objective, q, noise, baseline)
        return np.asarray(weights @ (found - weights @ found) ** 2)

    for off in (-0.1, 0.1):
        assert (variance(best + off) > variance(best)).all()
    assert variance(np.zeros(2)) == pytest.approx(quadratic_variance(SCORE, objective, q))


def test_many_q_side_by_side_are_each_alone() -> None:
    noise = np.random.default_rng(0).standard_normal((2, 5))
    both = Normal(np.array([[0.1], [0.2]]), np.array([[0.5], [0.6]]))
    baseline = baseline_of(LINE.elbo(), both, noise, np.full(5, 0.2))
    for name in ESTIMATORS:
        found = estimates(name, LINE.elbo(), both, noise, baseline[:, None])
        for k, q in enumerate((Normal(0.1, 0.5), Normal(0.2, 0.6))):
            alone = baseline_of(LINE.elbo(), q, noise[k], np.full(5, 0.2))
            assert found[k] == pytest.approx(estimates(name, LINE.elbo(), q, noise[k], alone))


def test_nothing_varies_at_the_posterior_where_log_q_is_sampled() -> None:
    """The integrand is the log evidence there, a constant."""
    q, objective = LINE.posterior, LINE.elbo()
    for name in (CONTROLLED, PATH_DERIVATIVE):
        assert quadratic_variance(name, objective, q) == pytest.approx([0, 0], abs=1e-12)
    assert quadratic_variance(PATHWISE, objective, q) == pytest.approx([1 / q.scale**2, 2])
    z = np.array([-0.4, 0.2, 1.1])
    log_q = TorchNormal(q.loc, q.scale).log_prob(torch.from_numpy(z)).numpy()
    covariance = np.eye(8) / 4.0 + np.outer(LINE.inputs, LINE.inputs) / 0.5
    evidence = torch.distributions.MultivariateNormal(
        torch.zeros(8, dtype=torch.float64), torch.from_numpy(covariance)
    ).log_prob(torch.from_numpy(LINE.targets))
    assert objective.value(z) - log_q == pytest.approx([evidence.item()] * 3)
