"""A stack of ReLU networks as one tensor program, with its gradient written out.

Weights of one network are one flat vector `[P]`, layer after layer, each a matrix
`[fan_in, fan_out]` followed by its bias `[fan_out]`. S samples of R networks are `[S, R, P]`.
The backward pass is explicit: per-sample weight gradients are what every method here needs
(Vadam squares them before averaging), and it runs at twice the speed of autograd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from bnnbench.settings import Network
from bnnbench.streams import Streams


@dataclass(frozen=True)
class MLP:
    """Shape of a fully connected network with one output: `sizes = (D, width, ..., 1)`."""

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, inputs: int, network: Network) -> MLP:
        return cls((inputs, *[network.width] * network.depth, 1))

    @property
    def n_weights(self) -> int:
        return sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(self.sizes))

    def layers(self, weights: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Views `([n, fan_in, fan_out], [n, 1, fan_out])` per layer of flat weights `[n, P]`."""
        views, start = [], 0
        for fan_in, fan_out in pairwise(self.sizes):
            middle, end = start + fan_in * fan_out, start + (fan_in + 1) * fan_out
            matrix = weights[:, start:middle].unflatten(1, (fan_in, fan_out))
            views.append((matrix, weights[:, middle:end].unsqueeze(1)))
            start = end
        return views

    def initial(self, streams: Streams) -> Tensor:
        """`[R or 1, P]`, uniform on ±1/sqrt(fan_in): the authors' code's (torch's) default."""
        bound = torch.cat([
            torch.full(((fan_in + 1) * fan_out,), fan_in**-0.5)
            for fan_in, fan_out in pairwise(self.sizes)
        ]).to(streams.device, streams.dtype)
        return bound * (2 * streams.uniform(1, self.n_weights)[0] - 1)


@dataclass(frozen=True)
class Tape:
    """What the backward pass needs: flat weights and the (masked) input of every layer."""

    weights: Tensor
    layer_inputs: tuple[Tensor, ...]
    masks: tuple[Tensor, ...] | None


def forward(
    mlp: MLP, weights: Tensor, inputs: Tensor, masks: Sequence[Tensor] | None = None
) -> tuple[Tensor, Tape]:
    """Evaluates every network on its own inputs.

    Args:
        mlp: the shape.
        weights: `[S, R, P]`.
        inputs: `[R, B, D]`.
        masks: one multiplicative mask per layer, broadcastable to that layer's input
            `[S, R, B, units]` (dropout before every weight layer); None for none.

    Returns:
        Outputs `[S, R, B]` and the tape for `backward`.
    """
    samples, replicas, _ = weights.shape
    n, rows = samples * replicas, inputs.shape[1]

    def masked(h: Tensor, layer: int) -> Tensor:
        if masks is None:
            return h
        return (h.view(samples, replicas, rows, -1) * masks[layer]).view(n, rows, -1)

    flat = weights.reshape(n, -1)
    *hidden, (last, last_bias) = mlp.layers(flat)
    h = inputs.expand(samples, *inputs.shape).reshape(n, rows, -1)
    layer_inputs = []
    for layer, (matrix, bias) in enumerate(hidden):
        layer_inputs.append(masked(h, layer))
        h = torch.baddbmm(bias, layer_inputs[-1], matrix).relu_()
    layer_inputs.append(masked(h, len(hidden)))
    # With one output, W'h' is three times faster than hW.
    out = torch.baddbmm(last_bias, last.mT, layer_inputs[-1].mT)
    tape = Tape(flat, tuple(layer_inputs), None if masks is None else tuple(masks))
    return out.view(samples, replicas, rows), tape


def backward(mlp: MLP, tape: Tape, d_outputs: Tensor) -> Tensor:
    """Gradient of `sum(d_outputs * outputs)` with respect to the weights.

    Args:
        mlp: the shape.
        tape: from `forward`.
        d_outputs: `[S, R, B]`, the loss's gradient at the outputs.

    Returns:
        `[S, R, P]`, one gradient per weight sample and network.
    """
    samples, replicas, rows = d_outputs.shape
    n = samples * replicas
    ones = d_outputs.new_ones(1, 1, rows).expand(n, 1, rows)
    layers = mlp.layers(tape.weights)
    d = d_outputs.reshape(n, rows, 1)
    pieces = [d.sum(1).view(n, 1), torch.bmm(d.mT, tape.layer_inputs[-1]).view(n, -1)]
    for layer in range(len(layers) - 1, 0, -1):
        matrix, h = layers[layer][0], tape.layer_inputs[layer]
        d = d * matrix.mT if matrix.shape[2] == 1 else torch.bmm(d, matrix.mT)
        if tape.masks is not None:
            mask = tape.masks[layer]
            d = (d.view(samples, replicas, rows, -1) * mask).view(n, rows, -1)
        # A masked unit has h == 0 and d == 0 already, so h > 0 marks the active ReLUs.
        d = torch.ops.aten.threshold_backward(d, h, 0)
        pieces.append(torch.bmm(ones, d).view(n, -1))
        pieces.append(torch.bmm(tape.layer_inputs[layer - 1].mT, d).flatten(1))
    return torch.cat(pieces[::-1], 1).view(samples, replicas, -1)
