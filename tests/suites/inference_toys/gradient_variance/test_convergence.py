"""Ascent of the ELBO with noisy gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Normal as TorchNormal
from torch.distributions import kl_divergence

from bnnbench.suites.inference_toys.gradient_variance.convergence import Ascent, climb
from bnnbench.suites.inference_toys.gradient_variance.objectives import Normal, kl, simulate
from bnnbench.suites.inference_toys.gradient_variance.tables import (
    CONTROLLED,
    ESTIMATORS,
    PATH_DERIVATIVE,
    PATHWISE,
    SCORE,
)

LINE = simulate(rows=20, weight=0.8, noise_precision=4.0, prior_precision=1.0, seed=0)


def test_kl_is_that_of_torch() -> None:
    q, p = Normal(0.3, 0.5), Normal(-0.1, 1.5)
    theirs = kl_divergence(TorchNormal(0.3, 0.5), TorchNormal(-0.1, 1.5)).item()
    assert kl(q, p) == pytest.approx(theirs, rel=1e-6)


def test_every_estimator_comes_near_and_repetitions_are_their_own() -> None:
    ascent = Ascent(steps=600, samples=10, learning_rate=0.05)
    last = {}
    for name in ESTIMATORS:
        found = climb(name, LINE, ascent, np.random.default_rng(1), 8)
        assert found.shape == (8, 601)
        assert found[:, 0] == pytest.approx(kl(LINE.prior, LINE.posterior))
        assert len(np.unique(found[:, -1])) == 8 and found.min() >= 0
        last[name] = np.median(found[:, -1])
    assert last[PATH_DERIVATIVE] < last[PATHWISE] < last[SCORE] < 2
    assert last[CONTROLLED] < last[SCORE]


def test_the_first_step_is_adams() -> None:
    """Of the learning rate's size, uphill, for both parameters."""
    ascent = Ascent(steps=1, samples=4000, learning_rate=0.05)
    found = climb(PATHWISE, LINE, ascent, np.random.default_rng(0), 2)
    moved = Normal(0.05, torch.tensor(-0.05).exp().item())
    assert found[:, 1] == pytest.approx(kl(moved, LINE.posterior), rel=1e-6)
