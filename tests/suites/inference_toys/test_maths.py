"""Densities, divergences and grids of Gaussians, compared with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bnnbench.suites.inference_toys.maths import (
    log_normal,
    normal_density,
    normal_kl,
    standard_normal_grid,
)

VALUES = np.array([-3.0, 0.2, 1.5])


def test_densities_equal_those_of_scipy() -> None:
    expected = stats.norm(0.5, 2.0)
    assert normal_density(VALUES, 0.5, 2.0) == pytest.approx(expected.pdf(VALUES))
    assert log_normal(VALUES, 0.5, 4.0) == pytest.approx(expected.logpdf(VALUES))


def test_divergence_and_grid_agree() -> None:
    """`KL(q || p)` is the mean of `log q - log p` under `q`, which is quadratic in the value."""
    nodes, weights = standard_normal_grid(321, 10.0)
    values = 0.7 + 0.3 * nodes
    mean = weights @ (log_normal(values, 0.7, 0.09) - log_normal(values, 0.0, 2.5))
    assert normal_kl(0.7, 0.09, 2.5) == pytest.approx(mean)
    assert (weights.sum(), weights @ nodes**2) == pytest.approx((1, 1))
