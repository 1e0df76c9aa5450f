"""Rao-Blackwellisation with independent latent variables."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.suites.inference_toys.gradient_variance.estimators import quadratic_variance
from bnnbench.suites.inference_toys.gradient_variance.latents import (
    latent_estimates,
    latent_variance,
)
from bnnbench.suites.inference_toys.gradient_variance.names import SCORE
from bnnbench.suites.inference_toys.gradient_variance.objectives import Normal, Quadratic

TERM, Q = Quadratic(1.0, -0.5, 0.3), Normal(0.2, 0.8)


def test_one_latent_variable_is_the_plain_estimate() -> None:
    plain = quadratic_variance(SCORE, TERM, Q)[0]
    assert latent_variance(TERM, Q, 1, rao_blackwell=False) == pytest.approx(plain)
    assert latent_variance(TERM, Q, 9, rao_blackwell=True) == pytest.approx(plain)


def test_the_variance_for_two_latent_variables_matches_quadrature() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    weights = weights / weights.sum()
    noise = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), -1)
    joint = np.outer(weights, weights)
    for rao_blackwell in (False, True):
        gradients = latent_estimates(TERM, Q, noise, rao_blackwell)
        mean = (joint * gradients).sum()
        assert mean == pytest.approx(TERM.gradient(Q)[0])
        variance = (joint * (gradients - mean) ** 2).sum()
        assert latent_variance(TERM, Q, 2, rao_blackwell) == pytest.approx(variance)
