"""Practical VI: fixed points for a linear model with both curvatures, and initialisation."""

from __future__ import annotations

import pytest
import torch
from support.fixed_point import fixed_point
from support.linear_model import N, exact_posterior, fit, linear_task

from bnnbench.methods.practical_vi import PracticalVI


def test_practical_vi_with_gauss_newton_finds_the_mean_field_optimum() -> None:
    """For a linear model the Gauss-Newton matrix equals the Hessian."""
    mean, precision = exact_posterior()
    method = PracticalVI(label="p", curvature="gauss_newton")
    loc, scale = method.moments(fit(method, 800, learning_rate=0.02, samples=400))
    torch.testing.assert_close(loc[0], mean, atol=0.02, rtol=0)
    # The gradient is the same for every sample, so only Adam's last steps matter.
    torch.testing.assert_close(scale[0], precision.diagonal().rsqrt(), atol=0, rtol=1e-3)


@pytest.mark.parametrize("batch_size", [N, 10])
def test_practical_vi_converges_to_its_fixed_point(batch_size: int) -> None:
    """It is that of Vadam with minibatches of one row, for any minibatch size."""
    mean, _ = exact_posterior()
    method = PracticalVI(label="p")
    settings = {"learning_rate": 0.02, "batch_size": batch_size}
    loc, scale = method.moments(fit(method, 1200 * batch_size // N, samples=300, **settings))
    torch.testing.assert_close(loc[0], mean, atol=0.02, rtol=0)
    torch.testing.assert_close(scale[0], fixed_point(mean, 1).sqrt(), atol=0, rtol=0.03)


def test_initial_precision() -> None:
    method = PracticalVI(label="p")
    variance = method.init(linear_task(method, 1))["log_variance"].exp()
    torch.testing.assert_close(variance, torch.full_like(variance, 0.1))
