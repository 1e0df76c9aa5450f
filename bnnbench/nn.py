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

Layer = tuple[Tensor, Tensor]


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

    def layers(self, weights: Tensor) -> tuple[list[Layer], Layer]:
        """Views of flat weights `[n, P]`: the hidden layers, and the output layer as a row.

        Hidden layers are `([n, fan_in, fan_out], [n, 1, fan_out])`, the output layer is
        `([n, 1, fan_in], [n, 1, 1])`: with one output, `w h'` is twice as fast as `h w`.
        """
        views, start = [], 0
        for fan_in, fan_out in pairwise(self.sizes):
            middle, end = start + fan_in * fan_out, start + (fan_in + 1) * fan_out
            shape = (1, fan_in) if fan_out == 1 else (fan_in, fan_out)
            matrix = weights[:, start:middle].unflatten(1, shape)
            views.append((matrix, weights[:, middle:end].unsqueeze(1)))
            start = end
        return views[:-1], views[-1]

    def initial(self, streams: Streams) -> Tensor:
        """`[R or 1, P]`, uniform on ±1/sqrt(fan_in): the authors' code's (torch's) default."""
        bound = torch.cat(
            [
                torch.full(((fan_in + 1) * fan_out,), fan_in**-0.5)
                for fan_in, fan_out in pairwise(self.sizes)
            ]
        ).to(streams.device, streams.dtype)
        return bound * (2 * streams.uniform(1, self.n_weights)[0] - 1)


@dataclass(frozen=True)
class Tape:
    """What the backward pass needs: weight views and the (masked) input of every layer."""

    hidden: list[Layer]
    output: Layer
    layer_inputs: list[Tensor]
    masks: Sequence[Tensor] | None


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
    hidden, (row, bias) = mlp.layers(weights.reshape(n, -1))
    h = inputs.expand(samples, *inputs.shape).reshape(n, rows, -1)
    layer_inputs = []
    for layer, (matrix, offset) in enumerate(hidden):
        h = h if masks is None else _masked(h, masks[layer], samples)
        layer_inputs.append(h)
        h = torch.baddbmm(offset, h, matrix).relu_()
    h = h if masks is None else _masked(h, masks[-1], samples)
    layer_inputs.append(h)
    outputs = torch.bmm(row, h.mT).add_(bias).view(samples, replicas, rows)
    return outputs, Tape(hidden, (row, bias), layer_inputs, masks)


def backward(tape: Tape, d_outputs: Tensor) -> Tensor:
    """Gradient of `sum(d_outputs * outputs)` with respect to the weights.

    Args:
        tape: from `forward`.
        d_outputs: `[S, R, B]`, the loss's gradient at the outputs.

    Returns:
        `[S, R, P]`, one gradient per weight sample and network.
    """
    samples, replicas, rows = d_outputs.shape
    n = samples * replicas
    ones = d_outputs.new_ones(1, 1, rows).expand(n, 1, rows)
    d = d_outputs.reshape(n, rows, 1)
    pieces = [d.sum(1), torch.bmm(d.mT, tape.layer_inputs[-1]).view(n, -1)]
    d = d * tape.output[0]
    for layer in range(len(tape.hidden) - 1, -1, -1):
        h = tape.layer_inputs[layer + 1]
        if tape.masks is not None:
            d = _masked(d, tape.masks[layer + 1], samples)
        # A masked unit has h == 0 and d == 0 already, so h > 0 marks the active ReLUs.
        d = torch.ops.aten.threshold_backward(d, h, 0)
        pieces.append(torch.bmm(ones, d).view(n, -1))
        pieces.append(torch.bmm(tape.layer_inputs[layer].mT, d).flatten(1))
        if layer > 0:
            d = torch.bmm(d, tape.hidden[layer][0].mT)
    return torch.cat(pieces[::-1], 1).view(samples, replicas, -1)


def _masked(h: Tensor, mask: Tensor, samples: int) -> Tensor:
    """`h` `[S R, B, units]` times a mask broadcastable to `[S, R, B, units]`."""
    return (h.unflatten(0, (samples, -1)) * mask).flatten(0, 1)
