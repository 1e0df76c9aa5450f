"""Factorised approximation of two correlated variables: closed forms, coordinate ascent."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal
from torch.distributions import kl_divergence as torch_kl

from bnnbench.suites.inference_toys.kl_shapes.correlated import (
    coordinate_ascent,
    covariance_matrix,
    fit_factorised,
    kl_divergence,
)

COVARIANCE = covariance_matrix(0.8)
MINIMUM = -0.5 * np.log(0.36)


def test_kl_divergences_equal_those_of_torch() -> None:
    mean, variance = np.array([0.3, -0.2]), np.array([0.5, 2.0])
    q = MultivariateNormal(torch.from_numpy(mean), torch.from_numpy(np.diag(variance)))
    p = MultivariateNormal(torch.zeros(2).double(), torch.from_numpy(COVARIANCE))
    for forward, expected in ((False, torch_kl(q, p)), (True, torch_kl(p, q))):
        ours = kl_divergence(mean, variance, COVARIANCE, forward)
        assert ours == pytest.approx(expected.item())


@pytest.mark.parametrize(("forward", "variance"), [(False, 0.36), (True, 1.0)])
def test_each_direction_has_its_closed_form(forward: bool, variance: float) -> None:
    """Reverse KL matches the diagonal of the precision, 1 / 0.36; forward KL the covariance's."""
    fitted = fit_factorised(COVARIANCE, forward)
    assert fitted == pytest.approx([variance, variance], rel=1e-5)
    assert kl_divergence(np.zeros(2), fitted, COVARIANCE, forward) == pytest.approx(MINIMUM)


def test_coordinate_ascent_converges_linearly_to_the_optimum() -> None:
    start = np.array([-1.0, 2.0])
    steps = list(coordinate_ascent(COVARIANCE, start, 40))
    assert len(steps) == 81 and steps[0][0] is start
    values = [kl_divergence(*step, COVARIANCE, forward=False) for step in steps]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(values))
    assert steps[2][0] == pytest.approx([1.6, 1.28])
    assert steps[4][0] / steps[2][0] == pytest.approx([0.64, 0.64])
    assert steps[-1][1] == pytest.approx([0.36, 0.36])
    assert values[-1] == pytest.approx(MINIMUM)
