"""Rao-Blackwellisation among independent unknowns."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.suites.inference_toys.gradient_variance.estimators import quadratic_variance
from bnnbench.suites.inference_toys.gradient_variance.latents import (
    latent_estimates,
    latent_variance,
)
from bnnbench.suites.inference_toys.gradient_variance.objectives import Normal, Quadratic
from bnnbench.suites.inference_toys.gradient_variance.tables import SCORE

TERM, Q = Quadratic(1.0, -0.5, 0.3), Normal(0.2, 0.8)


def test_alone_both_are_the_plain_estimate() -> None:
    plain = quadratic_variance(SCORE, TERM, Q)[0]
    assert latent_variance(TERM, Q, 1, own=False) == pytest.approx(plain)
    assert latent_variance(TERM, Q, 9, own=True) == pytest.approx(plain)


def test_the_variance_of_two_is_quadrature_over_both() -> None:
    places, weights = np.polynomial.hermite_e.hermegauss(12)
    weights = weights / weights.sum()
    noise = np.stack(np.meshgrid(places, places, indexing="ij"), -1)
    joint = np.outer(weights, weights)
    for own in (False, True):
        found = latent_estimates(TERM, Q, noise, own)
        mean = (joint * found).sum()
        assert mean == pytest.approx(TERM.gradient(Q)[0])
        variance = (joint * (found - mean) ** 2).sum()
        assert latent_variance(TERM, Q, 2, own) == pytest.approx(variance)
