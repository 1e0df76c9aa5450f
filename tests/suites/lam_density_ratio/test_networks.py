"""The stacked networks compared with autograd, and the sizes of the thesis."""

from __future__ import annotations

import math

import pytest
import torch
from support.sprinkler import reference_network
from torch import Tensor

from bnnbench.suites.lam_density_ratio.networks import (
    ESTIMATOR,
    GENERATOR,
    Architecture,
    BufferedNetwork,
    Parameters,
    initial_weights,
)

DATA = torch.tensor([0.0, 5.0, 8.0, 12.0, 50.0], dtype=torch.float64)
REPLICAS, COLUMNS = 3, 20


def random_case(architecture: Architecture) -> tuple[Parameters, Tensor]:
    weights = torch.stack([initial_weights(architecture, seed) for seed in range(REPLICAS)])
    weights += 0.1 * torch.randn(weights.shape, generator=torch.Generator().manual_seed(0))
    inputs = torch.randn(REPLICAS, architecture.main[0], COLUMNS, dtype=torch.float64,
                         generator=torch.Generator().manual_seed(1))  # fmt: skip
    return Parameters(architecture, weights), inputs


@pytest.mark.parametrize(("shared", "repeats"), [(True, 2), (False, 1)])
@pytest.mark.parametrize("architecture", [GENERATOR, ESTIMATOR])
def test_outputs_and_gradients_agree_with_autograd(
    architecture: Architecture, shared: bool, repeats: int
) -> None:
    weights, inputs = random_case(architecture)
    seen = DATA.repeat_interleave(2).repeat(2).expand(REPLICAS, 1, -1)
    one = BufferedNetwork(weights, COLUMNS, DATA if shared else None, repeats)
    one.inputs.copy_(inputs)
    if not shared:
        one.observations.copy_(seen[:, :, : COLUMNS // repeats])
    slope = torch.randn(REPLICAS, architecture.head[-1], COLUMNS, dtype=torch.float64)
    gradient = weights.zeros_like()
    outputs = one.forward().clone()
    to_inputs = one.backward(slope.clone(), gradient, to_inputs=True).clone()

    flat = weights.flat.clone().requires_grad_()
    inputs.requires_grad_()
    expected = reference_network(Parameters(architecture, flat), inputs, seen)
    expected.backward(slope)
    torch.testing.assert_close(outputs, expected.detach(), rtol=1e-12, atol=1e-12)
    assert flat.grad is not None and inputs.grad is not None
    torch.testing.assert_close(gradient.flat, flat.grad, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(to_inputs, inputs.grad, rtol=1e-10, atol=1e-12)

    one.forward()
    one.backward(slope.clone(), gradient, add=True)
    torch.testing.assert_close(gradient.flat, 2 * flat.grad, rtol=1e-10, atol=1e-10)
    one.forward()
    alone = one.backward(slope.clone(), None, to_inputs=True)
    torch.testing.assert_close(alone, inputs.grad, rtol=1e-10, atol=1e-12)


def test_sizes_and_initial_weights_are_those_of_the_thesis() -> None:
    for architecture, size in ((GENERATOR, 13_562), (ESTIMATOR, 16_561)):
        weights = Parameters(architecture, initial_weights(architecture, 0)[None])
        assert weights.flat.shape == (1, size)
        for layer in (*weights.main, *weights.observation, *weights.head):
            inputs, out = layer.shape[1] - 1, layer.shape[2]
            bound = math.sqrt(6 / (inputs + out))
            assert (layer[:, -1] == 0).all()
            assert 0.85 * bound < layer[:, :-1].abs().max() <= bound
