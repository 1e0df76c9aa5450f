"""TAGI: conditioning against autograd and numerical integration, and predicted noise."""

from __future__ import annotations

import math

import pytest
import torch
from support.pbp import random_state

from bnnbench.methods.pbp import pack
from bnnbench.methods.shared.contract import FitTask
from bnnbench.methods.shared.moment_propagation import layers_of
from bnnbench.methods.tagi import RESET_VARIANCE, TAGI, forward, max_change, moved, update
from bnnbench.nn import MLP
from bnnbench.nn import forward as network_output
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet


@pytest.mark.parametrize("sizes", [(2, 1), (2, 4, 1)])
def test_one_row_conditions_on_the_linearised_network(sizes: tuple[int, ...]) -> None:
    """With up to one hidden layer, weights have the covariance `var * gradient` with the output."""
    mlp, method = MLP(sizes), TAGI(label="t")
    state = random_state(mlp)
    loc, var = state["loc"].requires_grad_(), 0.01 * state["var"]
    inputs, target = torch.randn(2, 1, 2).double(), torch.tensor([[0.5], [-1.0]]).double()
    mean = network_output(mlp, loc[None], inputs)[0][0, ..., 0]
    (gradient,) = torch.autograd.grad(mean.sum(), loc)
    layers = layers_of(mlp, (loc.detach(), var))
    output, tape = forward(layers, inputs)
    torch.testing.assert_close(output[0][..., 0], mean.detach())
    hyper = {"noise_precision": torch.full((2, 1), 4.0).double()}
    new = pack(update(layers, tape, method._condition(output, target, hyper), limit=100.0))
    total = output[1][..., 0] + 0.25
    shift = var * gradient * (target - mean.detach()) / total
    torch.testing.assert_close(new["loc"], loc.detach() + shift)
    torch.testing.assert_close(new["var"], var - (var * gradient).square() / total)


def test_the_predicted_noise_is_conditioned_on_the_square_of_the_residual() -> None:
    """The linear estimate of the noise variance given `v^2`, its moments by integration."""
    loc, var = torch.tensor([0.3, -0.7]).double(), torch.tensor([0.2, 0.1]).double()
    target, output = torch.tensor([[1.5]]).double(), (loc[None, None], var[None, None])
    by_loc, by_var = TAGI(label="t", predicts_noise=True)._condition(output, target, {})
    noise = torch.exp(loc[1] + var[1] / 2)
    grid = torch.linspace(-12, 12, 200_001).double()
    density = torch.exp(-0.5 * grid**2 / noise - 0.5 * (target[0] - loc[0] - grid) ** 2 / var[0])
    density /= density.sum()
    square, fourth = (density * grid**2).sum(), (density * grid**4).sum()
    # Var(v^2) = E[3 s^2] - E[s]^2 for v ~ Normal(0, s) and a log-normal s, and Cov(v^2, s) = Var(s)
    noise_var = torch.exp(2 * loc[1] + var[1]) * torch.expm1(var[1])
    prior_var = 3 * (noise_var + noise**2) - noise**2
    covariance = var[1] * noise  # of the Gaussian and its exponential
    gain = covariance / prior_var
    torch.testing.assert_close(var[1] * by_loc[0, 0, 1], gain * (square - noise))
    change = gain**2 * (fourth - square**2 - prior_var)
    torch.testing.assert_close(var[1] ** 2 * by_var[0, 0, 1], change)


def test_predicted_noise_grows_where_the_data_are_noisy() -> None:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.rand(1, 400, 1, generator=generator) * 2 - 1
    scale = torch.where(inputs[..., 0] > 0, 1.0, 0.1)
    targets = scale * torch.randn(1, 400, generator=generator)
    data = TrainingSet(inputs, targets, (400,), (0,))
    training = Training(batch_size=10)
    task = FitTask(data, {}, Network(width=20), training, 10, Streams([0], (0,)))
    method = TAGI(label="t", predicts_noise=True)
    rows = torch.tensor([[[-0.7], [0.7]]])
    low, high = method.predict(method.fit(task), rows, 1, task.streams).noise.flatten().tolist()
    assert 0.003 < low < 0.04
    assert 0.5 < high < 2


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("limit", [1.0, 0.1, 0.05])
def test_a_small_variance_changes_as_in_the_reference_program(scale: float, limit: float) -> None:
    """`global_param_update_cpu.cpp` at 8c63560: `sign(d) min(|d|, sqrt(var) / cap_factor)`."""
    generator = torch.Generator().manual_seed(0)
    var = scale * torch.rand(1, 50, 1, generator=generator).double()
    loc, by_loc, by_var = torch.randn(3, 1, 50, 1, generator=generator).double().unbind()
    change = 3 * by_loc / scale**0.5, -0.9 * by_var.abs() / scale
    ours = moved((loc, var), change, limit)
    for k in range(50):
        mean, variance = loc[0, k, 0].item(), var[0, k, 0].item()
        delta_mean = variance * change[0][0, k, 0].item()
        delta_variance = variance**2 * change[1][0, k, 0].item()
        delta_bar = math.sqrt(variance) * limit
        mean += math.copysign(min(abs(delta_mean), delta_bar), delta_mean)
        variance += math.copysign(min(abs(delta_variance), delta_bar), delta_variance)
        assert ours[0][0, k, 0].item() == pytest.approx(mean, rel=1e-6)
        expected = variance if variance >= 0 else RESET_VARIANCE
        assert ours[1][0, k, 0].item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("batch_size", "limit"), [(10, 1.0), (100, 0.1), (500, 0.05)])
def test_changes_are_limited_by_the_size_of_minibatches(batch_size: int, limit: float) -> None:
    assert max_change(batch_size) == limit
