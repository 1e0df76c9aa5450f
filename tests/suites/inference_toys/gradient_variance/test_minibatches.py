"""Eq. 3.77 has no bias, from all rows or from minibatches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnnbench.suites.inference_toys.gradient_variance.minibatches import (
    drawn_estimates,
    enumerated_mean,
)
from bnnbench.suites.inference_toys.gradient_variance.objectives import Normal, simulate
from bnnbench.suites.inference_toys.gradient_variance.tables import ESTIMATORS, SCORE

LINE = simulate(rows=7, weight=0.8, noise_precision=4.0, prior_precision=1.0, seed=2)
PLACES = (LINE.prior, Normal(0.3, 0.2))


@pytest.mark.parametrize("q", PLACES)
@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("name", ESTIMATORS[:1] + ESTIMATORS[2:])
def test_over_every_minibatch_the_mean_is_the_gradient(name: str, size: int, q: Normal) -> None:
    gradient = LINE.elbo().gradient(q)
    assert enumerated_mean(name, LINE, q, size) == pytest.approx(gradient, rel=1e-10)


def test_without_scaling_it_is_another() -> None:
    """So that the test above can fail: the rows' sum must stand for that of all rows."""
    half = replace(LINE, noise_precision=LINE.noise_precision / 7)
    q = LINE.prior
    assert enumerated_mean(SCORE, half, q, 1) != pytest.approx(LINE.elbo().gradient(q), rel=0.1)


def test_drawn_minibatches_agree_within_their_error() -> None:
    q = Normal(0.5, 0.3)
    found = drawn_estimates(SCORE, LINE, q, 2, 20_000, np.random.default_rng(0))
    assert found.shape == (20_000, 2)
    away = (found.mean(0) - LINE.elbo().gradient(q)) / (found.std(0) / 20_000**0.5)
    assert (np.abs(away) < 4).all()


def test_a_minibatch_of_all_rows_is_the_whole() -> None:
    every, whole = LINE.elbo(np.arange(7)[None]), LINE.elbo()
    for name in ("constant", "slope", "curvature"):
        assert getattr(every, name) == pytest.approx([getattr(whole, name)])
