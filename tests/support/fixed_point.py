"""The fixed point, on the linear model, of methods that average squared gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from support.linear_model import LAMBDA, TAU, N, design, linear_data


def squared_gradients(mean: Tensor, variance: Tensor, batch_size: int) -> Tensor:
    """Return `E[g^2]`, `[3]`, of a minibatch's mean gradient at weights `Normal(mean, variance)`.

    `g_i = tau / B sum_b x_bi (e_b + sum_j x_bj sigma_j epsilon_j)` with residuals `e` at the mean.
    B of N rows are drawn without replacement. `E[(sum_b a_b)^2]` therefore weights every `a_n^2` by
    `B / N` and every product of two rows by `B (B - 1) / (N (N - 1))`.
    """
    x = design()
    errors = x @ mean - linear_data().targets[0]
    one, two = batch_size / N, batch_size * (batch_size - 1) / (N * (N - 1))

    def square(a: Tensor) -> Tensor:
        return one * a.square().sum(0) + two * (a.sum(0).square() - a.square().sum(0))

    spread = square(x[:, :, None] * x[:, None, :]) @ variance
    return (TAU / batch_size) ** 2 * (square(x * errors[:, None]) + spread)


def fixed_point(mean: Tensor, batch_size: int) -> Tensor:
    """Return the solution of `1 / sigma^2 = N E[g^2] + prior`, `[3]`."""
    variance = torch.full((3,), 0.1).double()
    for _ in range(200):
        new = 1 / (N * squared_gradients(mean, variance, batch_size) + LAMBDA)
        variance = (variance * new).sqrt()  # damped, since the plain iteration oscillates
    torch.testing.assert_close(variance, new)
    return variance
