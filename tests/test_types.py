"""Variances of a predictive mixture."""

from __future__ import annotations

import numpy as np
import torch

from bnnbench.types import Prediction


def test_aleatoric_and_epistemic_variance_add_up() -> None:
    """The total is computed from the second moment, in any unit."""
    rng = np.random.default_rng(4)
    locs, noises = rng.normal(size=(5, 1, 4)), rng.uniform(0.05, 2, size=(5, 1, 4))
    none = torch.zeros(1, 1, 1).double()
    given = Prediction(torch.from_numpy(locs), none, torch.from_numpy(noises))
    moved = given.rescaled(torch.tensor([[7.0]]).double(), torch.tensor([[30.0]]).double())
    for prediction, shift, scale in ((given, 0.0, 1.0), (moved, 7.0, 30.0)):
        loc, noise = shift + scale * locs[:, 0], scale**2 * noises[:, 0]
        total = (loc**2 + noise).mean(0) - loc.mean(0) ** 2
        parts = prediction.epistemic_variance() + prediction.noise_variance()
        np.testing.assert_allclose(parts[0], total, rtol=1e-12)
