"""Eq. 3.77 is unbiased with all rows and with minibatches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnnbench.suites.inference_toys.gradient_variance.minibatches import (
    mean_over_minibatches,
    minibatch_estimates,
)
from bnnbench.suites.inference_toys.gradient_variance.names import ESTIMATORS, SCORE
from bnnbench.suites.inference_toys.gradient_variance.objectives import Normal, simulate

MODEL = simulate(rows=7, weight=0.8, noise_precision=4.0, prior_precision=1.0, seed=2)
DISTRIBUTIONS = (MODEL.prior, Normal(0.3, 0.2))


@pytest.mark.parametrize("q", DISTRIBUTIONS)
@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("name", ESTIMATORS[:1] + ESTIMATORS[2:])
def test_the_mean_over_all_minibatches_is_the_gradient(name: str, size: int, q: Normal) -> None:
    gradient = MODEL.elbo().gradient(q)
    assert mean_over_minibatches(name, MODEL, q, size) == pytest.approx(gradient, rel=1e-10)


def test_without_scaling_the_mean_is_wrong() -> None:
    """Shows that the test above can fail."""
    half = replace(MODEL, noise_precision=MODEL.noise_precision / 7)
    q = MODEL.prior
    assert mean_over_minibatches(SCORE, half, q, 1) != pytest.approx(
        MODEL.elbo().gradient(q), rel=0.1
    )


def test_random_minibatches_agree_within_their_standard_error() -> None:
    q = Normal(0.5, 0.3)
    gradients = minibatch_estimates(SCORE, MODEL, q, 2, 20_000, np.random.default_rng(0))
    assert gradients.shape == (20_000, 2)
    distance = (gradients.mean(0) - MODEL.elbo().gradient(q)) / (gradients.std(0) / 20_000**0.5)
    assert (np.abs(distance) < 4).all()


def test_a_minibatch_of_all_rows_equals_the_full_data() -> None:
    minibatch, full = MODEL.elbo(np.arange(7)[None]), MODEL.elbo()
    for name in ("constant", "slope", "curvature"):
        assert getattr(minibatch, name) == pytest.approx([getattr(full, name)])
