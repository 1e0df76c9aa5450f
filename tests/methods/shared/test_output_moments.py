"""Output moments against sampled networks, and their gradients against autograd."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bnnbench.methods.shared.output_moments import backpropagate, layers_of, propagate
from bnnbench.nn import MLP, forward


def weights_of(mlp: MLP) -> tuple[Tensor, Tensor]:
    """Return means and variances of two stacked networks, `[2, P]` each."""
    generator = torch.Generator().manual_seed(0)
    shape = (2, mlp.n_weights)
    mean = torch.randn(shape, generator=generator, dtype=torch.float64)
    return 0.7 * mean, 0.3 * torch.rand(shape, generator=generator, dtype=torch.float64)


def inputs_of(mlp: MLP) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, 5, mlp.sizes[0], generator=generator, dtype=torch.float64)


@pytest.mark.parametrize(
    ("sizes", "tolerance"), [((3, 1), 0.01), ((3, 4, 1), 0.01), ((3, 10, 10, 1), 0.06)]
)
def test_moments_match_sampled_networks(sizes: tuple[int, ...], tolerance: float) -> None:
    """Exact for up to one hidden layer; deeper networks have correlated units."""
    mlp = MLP(sizes)
    loc, variance = weights_of(mlp)
    (mean, spread), _, _ = propagate(layers_of(mlp, (loc, variance)), inputs_of(mlp))
    generator = torch.Generator().manual_seed(2)
    noise = torch.randn(40_000, 2, mlp.n_weights, generator=generator)
    drawn = torch.addcmul(loc.float(), variance.float().sqrt(), noise)
    outputs = forward(mlp, drawn, inputs_of(mlp).float())[0].squeeze(3).double()
    deviation = spread.sqrt()
    assert ((outputs.mean(0) - mean) / deviation).abs().max() < 2 * tolerance + 0.01
    assert (outputs.std(0) / deviation - 1).abs().max() < 2 * tolerance + 0.01


@pytest.mark.parametrize("sizes", [(3, 1), (3, 4, 1), (3, 4, 5, 1)])
def test_gradients_match_autograd(sizes: tuple[int, ...]) -> None:
    mlp = MLP(sizes)
    leaves = [one.requires_grad_() for one in weights_of(mlp)]
    (mean, variance), tape, rectified = propagate(
        layers_of(mlp, (leaves[0], leaves[1])), inputs_of(mlp)
    )
    by_mean = torch.linspace(-1, 1, 10, dtype=torch.float64).view(2, 5)
    by_variance = by_mean.cos()
    total = (by_mean * mean + by_variance * variance).sum()
    expected = torch.autograd.grad(total, leaves)
    with torch.no_grad():
        layers = layers_of(mlp, (leaves[0], leaves[1]))
        found = backpropagate(layers, tape, rectified, (by_mean[..., None], by_variance[..., None]))
    torch.testing.assert_close(found, tuple(expected))
