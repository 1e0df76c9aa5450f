"""Calibration with input-dependent noise."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.results.calibration import coverage


def test_calibration_uses_each_points_own_noise() -> None:
    """Intervals from the true, varying noise are calibrated; those from its mean are not."""
    rng = np.random.default_rng(5)
    variance = rng.choice([0.01, 4.0], size=20_000)
    points = pd.DataFrame({
        "target": rng.normal(0, variance**0.5),
        "mean": 0.0,
        "epistemic_variance": 0.0,
        "noise_variance": variance,
    })  # fmt: skip
    levels = np.array([0.5, 0.9])
    np.testing.assert_allclose(coverage(points, levels), levels, atol=0.015)
    same = points.assign(noise_variance=variance.mean())
    assert np.abs(coverage(same, levels) - levels).max() > 0.1
