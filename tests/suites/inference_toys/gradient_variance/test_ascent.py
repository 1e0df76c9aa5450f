"""Gradient ascent on the ELBO with noisy gradients."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.suites.inference_toys.gradient_variance.estimators import (
    CONTROL_VARIATE,
    ESTIMATORS,
    PATH_DERIVATIVE,
    PATHWISE,
    SCORE,
    gradient_ascent,
)
from bnnbench.suites.inference_toys.gradient_variance.objectives import KnownNoiseModel, kl
from bnnbench.suites.inference_toys.maths import simulate_line

MODEL = KnownNoiseModel(
    *simulate_line(20, 0.8, 4.0, seed=0), noise_precision=4.0, prior_precision=1.0
)


@pytest.mark.slow
def test_every_estimator_converges_and_repetitions_differ() -> None:
    final = {}
    for name in ESTIMATORS:
        random = np.random.default_rng(1)
        divergences = gradient_ascent(name, MODEL, random, (300, 4, 10), learning_rate=0.05)
        assert divergences.shape == (4, 301)
        assert divergences[:, 0] == pytest.approx(kl(MODEL.prior, MODEL.posterior))
        assert len(np.unique(divergences[:, -1])) == 4 and divergences.min() >= 0
        final[name] = np.median(divergences[:, -1])
    assert final[PATH_DERIVATIVE] < final[PATHWISE] < final[SCORE] < 2
    assert final[CONTROL_VARIATE] < final[SCORE]
