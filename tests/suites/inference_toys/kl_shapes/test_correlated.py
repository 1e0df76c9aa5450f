"""Factorised approximation of two correlated variables: closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal
from torch.distributions import kl_divergence as torch_kl

from bnnbench.suites.inference_toys.kl_shapes.fitting import (
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
