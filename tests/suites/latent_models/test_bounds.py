"""Importance-weighted bounds on models with a known log p(x)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from bnnbench.suites.latent_models.planar import Flow
from bnnbench.suites.latent_models.stack import (
    all_bounds,
    count_active_units,
    importance_weighted_bound,
    probe_predictions,
)

D, LATENTS, NOISE = 6, 2, 0.3


def linear_gaussian() -> tuple[Tensor, Tensor, Tensor]:
    """Loadings `[D, d]` and rows `[N, D]` of probabilistic PCA, and exact log p of each row."""
    random = torch.Generator().manual_seed(0)
    loadings = torch.randn(D, LATENTS, dtype=torch.float64, generator=random)
    z = torch.randn(200, LATENTS, dtype=torch.float64, generator=random)
    noise = torch.randn(200, D, dtype=torch.float64, generator=random)
    rows = z @ loadings.T + math.sqrt(NOISE) * noise
    covariance = loadings @ loadings.T + NOISE * torch.eye(D).double()
    exact = torch.distributions.MultivariateNormal(torch.zeros(D).double(), covariance)
    return loadings, rows, exact.log_prob(rows)


def log_weights(shift: float, widening: float, samples: int) -> tuple[Tensor, Tensor]:
    """Log weights `[1, T, N]` of draws from the posterior, moved and widened; exact log p."""
    loadings, rows, exact = linear_gaussian()
    precision = torch.eye(LATENTS).double() + loadings.T @ loadings / NOISE
    covariance = precision.inverse()
    mean = rows @ loadings @ covariance / NOISE
    torch.manual_seed(0)
    q = torch.distributions.MultivariateNormal(mean + shift, widening * covariance)
    z = q.sample((samples,))
    likelihood = torch.distributions.Normal(z @ loadings.T, math.sqrt(NOISE))
    prior = torch.distributions.Normal(0.0, 1.0).log_prob(z).sum(-1)
    return (likelihood.log_prob(rows).sum(-1) + prior - q.log_prob(z))[None], exact


def test_the_exact_posterior_gives_the_exact_value_from_one_sample() -> None:
    weights, exact = log_weights(shift=0.0, widening=1.0, samples=3)
    for samples in (1, 3):
        bound = importance_weighted_bound(weights, samples)[0]
        torch.testing.assert_close(bound, exact, rtol=1e-10, atol=1e-10)


def test_bounds_rise_with_the_number_of_samples_to_log_p() -> None:
    weights, exact = log_weights(shift=0.3, widening=1.5, samples=1024)
    values = [bound.mean().item() for bound in all_bounds(weights).values()]
    assert values == sorted(values) and values[0] < values[-1] - 0.3
    assert values[-1] == pytest.approx(exact.mean().item(), abs=0.01)
    ragged = importance_weighted_bound(weights[:, :52], 5)
    torch.testing.assert_close(ragged, importance_weighted_bound(weights[:, :50], 5))


def test_a_flow_has_a_normalised_density() -> None:
    """E_q[N(z; 0, I) / q(z)] = 1 under random planar steps in two dimensions."""
    random = torch.Generator().manual_seed(1)
    raw = torch.randn(1, 6 * 5, 1, dtype=torch.float64, generator=random)
    noise = torch.randn(1, 2, 400_000, 1, dtype=torch.float64, generator=random)
    flow, z = Flow(raw, torch.empty_like(raw), 2, noise.shape[2]), torch.empty_like(noise)
    flow.first.copy_(noise)
    flow.forward(z)
    log_ratio = (noise.square() - z.square()).sum(1) / 2 + flow.log_determinant
    ratio = log_ratio.exp().flatten()
    assert ratio.mean().item() == pytest.approx(1, abs=5 * ratio.std().item() / 400_000**0.5)


def test_active_units_vary_between_images() -> None:
    means = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 0.5, 0.01]
    assert count_active_units(means) == 2


def test_the_probe_does_not_depend_on_the_scale_of_the_codes() -> None:
    random = np.random.default_rng(0)
    labels = np.arange(300) % 3
    codes = random.normal(size=(300, 4)) + np.eye(3, 4)[labels]
    test = random.normal(size=(50, 4)) + np.eye(3, 4)[np.arange(50) % 3]
    predicted = probe_predictions(codes, labels, test)
    assert (predicted == np.arange(50) % 3).mean() > 0.5
    for scale, shift in ((1e-3, 0.0), (100.0, 7.0)):
        scaled = probe_predictions(shift + scale * codes, labels, shift + scale * test)
        np.testing.assert_array_equal(scaled, predicted)
