"""Stacked networks, compared with autograd."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from bnnbench.nn import MLP, backward, forward, input_gradient, squared_backward
from bnnbench.settings import Network

S, R, B, D = 3, 2, 7, 4


def reference(mlp: MLP, weights: Tensor, inputs: Tensor, masks: list[Tensor] | None) -> Tensor:
    """Compute one network and one sample at a time, from the definition."""
    outputs = torch.empty(S, R, B, mlp.sizes[-1], dtype=torch.float64)
    for s in range(S):
        for r in range(R):
            h, start = inputs[r], 0
            for layer, (fan_in, fan_out) in enumerate(pairwise(mlp.sizes)):
                flat = weights[s, r, start : start + (fan_in + 1) * fan_out]
                start += (fan_in + 1) * fan_out
                h = h if masks is None else h * masks[layer][s, r]
                h = h @ flat[:-fan_out].view(fan_in, fan_out) + flat[-fan_out:]
                h = h.relu() if layer < len(mlp.sizes) - 2 else h
            outputs[s, r] = h
    return outputs


def make_masks(kind: str, mlp: MLP) -> list[Tensor] | None:
    if kind == "none":
        return None
    if kind == "bernoulli":
        return [(torch.rand(S, R, B, k) > 0.4).double() for k in mlp.sizes[:-1]]
    return [1 + torch.randn(S, R, B, k).double() for k in mlp.sizes[:-1]]  # some are negative


@pytest.mark.parametrize(
    ("depth", "kind", "width", "outputs"),
    [(0, "none", 5, 1), (3, "none", 5, 2), (1, "none", 1, 1), (2, "bernoulli", 5, 1),
     (1, "gaussian", 5, 2), (0, "gaussian", 5, 1)],
)  # fmt: skip
def test_forward_and_gradients_match_autograd(
    depth: int, kind: str, width: int, outputs: int
) -> None:
    torch.manual_seed(depth)
    mlp = MLP.of(D, Network(width, depth), outputs)
    weights = torch.randn(S, R, mlp.n_weights, dtype=torch.float64, requires_grad=True)
    inputs = torch.randn(R, B, D, dtype=torch.float64)
    masks = make_masks(kind, mlp)
    d_outputs = torch.randn(S, R, B, outputs, dtype=torch.float64)
    expected = reference(mlp, weights, inputs, masks)
    rows = [
        torch.autograd.grad((expected * d_outputs)[:, :, b].sum(), weights, retain_graph=True)[0]
        for b in range(B)
    ]
    ours, tape = forward(mlp, weights.detach(), inputs, masks)
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(backward(tape, d_outputs), torch.stack(rows).sum(0))
    if masks is None:
        at = inputs.clone().requires_grad_()
        total = (reference(mlp, weights.detach(), at, None) * d_outputs).sum((1, 2, 3))
        slopes = [torch.autograd.grad(part, at, retain_graph=True)[0] for part in total]
        torch.testing.assert_close(input_gradient(tape, d_outputs), torch.stack(slopes))
    squares = torch.stack(rows).square().sum(0)
    torch.testing.assert_close(squared_backward(tape, d_outputs), squares)


def test_weight_count() -> None:
    assert MLP.of(13, Network(width=50, depth=1)).n_weights == 13 * 50 + 50 + 50 + 1
