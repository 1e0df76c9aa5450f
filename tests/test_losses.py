"""Losses against their definitions by quadrature, and their sensitivity to outliers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from support.losses import every_loss

from bnnbench.losses import NLL, Beta, Gamma, Loss


def integral(function: Callable[[float], float], mean: float, scale: float) -> float:
    return integrate.quad(function, mean - 40 * scale, mean + 40 * scale, points=[mean], limit=200)[
        0
    ]


@pytest.mark.parametrize(("mean", "target", "scale"), [(0.3, 0.1, 0.4), (-1.0, 2.0, 1.7)])
@every_loss
def test_losses_match_their_definitions(
    loss: Loss, mean: float, target: float, scale: float
) -> None:
    def density(y: float) -> float:
        return math.exp(-0.5 * ((y - mean) / scale) ** 2) / (scale * math.sqrt(2 * math.pi))

    p = density(target)
    if isinstance(loss, Beta):
        b = loss.beta
        whole = integral(lambda y: density(y) ** b, mean, scale)
        expected = whole / b - p ** (b - 1) / (b - 1)
    elif isinstance(loss, Gamma):
        g = loss.gamma
        whole = integral(lambda y: density(y) ** g, mean, scale)
        expected = -g / (g - 1) * p ** (g - 1) / whole ** ((g - 1) / g)
    else:
        expected = -math.log(p)
    error, precision = torch.tensor([mean - target, scale**-2], dtype=torch.float64)
    assert loss.value(error, precision).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("make_loss", [lambda b: Beta(beta=b), lambda g: Gamma(gamma=g)])
def test_losses_approach_the_negative_log_likelihood(make_loss: Callable) -> None:
    torch.manual_seed(1)
    error, precision = torch.randn(20).double(), torch.rand(20).double() * 5
    near = 1 + 1e-6
    loss = make_loss(near)
    constant = 1 - 1 / (near - 1) if isinstance(loss, Beta) else -near / (near - 1)
    expected = NLL().value(error, precision)
    torch.testing.assert_close(loss.value(error, precision) - constant, expected, rtol=0, atol=1e-4)


@every_loss
def test_curvatures_are_expected_second_derivatives(loss: Loss) -> None:
    """Integrate the Hessian with respect to mean and log scale over the targets."""
    scale, errors = 0.6, torch.linspace(-7.2, 7.2, 961, dtype=torch.float64)
    at = [errors.clone(), torch.full_like(errors, math.log(scale))]
    for parameter in at:
        parameter.requires_grad_()
    value = loss.value(at[0], (-2 * at[1]).exp()).sum()
    slopes = torch.autograd.grad(value, at, create_graph=True)
    density = stats.norm.pdf(errors, scale=scale)
    matrix = [
        [integrate.simpson(density * column.numpy(), x=errors) for column in row]
        for row in (torch.autograd.grad(s.sum(), at, retain_graph=True) for s in slopes)
    ]
    precision = torch.tensor(scale**-2, dtype=torch.float64)
    np.testing.assert_allclose(matrix, np.diag(loss.curvatures(precision)), rtol=1e-8, atol=1e-9)
