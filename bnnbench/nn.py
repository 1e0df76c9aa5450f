"""Forward and backward pass of a stack of ReLU networks.

The weights of a network are one flat vector `[P]`, layer by layer, each a matrix
`[fan_in, fan_out]` followed by its bias `[fan_out]`. S samples of R networks are `[S, R, P]`. The
backward pass is explicit because every method needs weight gradients per sample (Vadam squares
them before averaging); it is twice as fast as autograd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import pad

from bnnbench.random_streams import Streams
from bnnbench.settings import Network

Layer = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class MLP:
    """Shape of a fully connected network with `O` outputs: `sizes = (D, width, ..., O)`."""

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, inputs: int, network: Network, outputs: int = 1) -> MLP:
        return cls((inputs, *network.widths, outputs))

    @property
    def layer_weights(self) -> list[int]:
        """The number of weights of each layer, biases included."""
        return [(fan_in + 1) * fan_out for fan_in, fan_out in pairwise(self.sizes)]

    @property
    def n_weights(self) -> int:
        return sum(self.layer_weights)

    def layers(self, weights: Tensor) -> tuple[list[Layer], Layer]:
        """Return views of flat weights `[n, P]`: the hidden layers and the transposed output layer.

        Hidden layers are `([n, fan_in, fan_out], [n, 1, fan_out])`, the output layer is
        `([n, O, fan_in], [n, O, 1])`: with one output, `w h'` is twice as fast as `h w`.
        """
        views, start = [], 0
        for fan_in, fan_out in pairwise(self.sizes[:-1]):
            middle, end = start + fan_in * fan_out, start + (fan_in + 1) * fan_out
            matrix = torch.unflatten(weights[:, start:middle], 1, (fan_in, fan_out))
            views.append((matrix, weights[:, middle:end].unsqueeze(1)))
            start = end
        fan_in, outputs = self.sizes[-2:]
        middle = start + fan_in * outputs
        flat, bias = weights[:, start:middle], weights[:, middle:].unsqueeze(2)
        if outputs == 1:
            return views, (torch.unflatten(flat, 1, (1, fan_in)), bias)
        return views, (torch.unflatten(flat, 1, (fan_in, outputs)).mT, bias)

    def by_layer(self, values: Sequence[float], dtype: torch.dtype) -> Tensor:
        """Return the value of each weight's layer, `[P]`, on the CPU."""
        counts = torch.tensor(self.layer_weights, device="cpu")
        return torch.tensor(values, dtype=dtype, device="cpu").repeat_interleave(counts)

    def initial(self, streams: Streams) -> Tensor:
        """Draw weights `[R or 1, P]`, uniform on ±1/sqrt(fan_in), the default of torch."""
        bounds = [fan_in**-0.5 for fan_in in self.sizes[:-1]]
        bound = self.by_layer(bounds, torch.float32).to(streams.device, streams.dtype)
        return bound * (2 * streams.uniform(1, self.n_weights)[0] - 1)

    def glorot(self, streams: Streams) -> Tensor:
        """Draw weights `[R or 1, P]`, uniform on ±sqrt(6 / (fan_in + fan_out)), with zero biases.

        The default of Keras (Glorot & Bengio 2010, eq. 16).
        """
        pieces = []
        for fan_in, fan_out in pairwise(self.sizes):
            matrix = torch.full(
                (fan_in * fan_out,),
                (6 / (fan_in + fan_out)) ** 0.5,
                dtype=torch.float32,
                device="cpu",
            )
            pieces += [matrix, torch.zeros(fan_out, dtype=torch.float32, device="cpu")]
        bound = torch.cat(pieces).to(streams.device, streams.dtype)
        return bound * (2 * streams.uniform(1, self.n_weights)[0] - 1)


@dataclass(frozen=True)
class Tape:
    """Intermediate results of the forward pass for the backward pass.

    Attributes:
        hidden: weight views of the hidden layers.
        output: weight view of the output layer.
        activations: outputs of the hidden layers, before any mask.
        layer_inputs: the (masked) input of every layer.
        masks: as given to `forward`.
    """

    hidden: list[Layer]
    output: Layer
    activations: list[Tensor]
    layer_inputs: list[Tensor]
    masks: Sequence[Tensor] | None


def forward(
    mlp: MLP, weights: Tensor, inputs: Tensor, masks: Sequence[Tensor] | None = None
) -> tuple[Tensor, Tape]:
    """Evaluate every network on its own inputs.

    Args:
        mlp: the shape.
        weights: `[S, R, P]`.
        inputs: `[R, B, D]`.
        masks: one multiplicative mask per layer, broadcastable to its input `[S, R, B, units]`
            (dropout before every weight layer); None for no masks.

    Returns:
        Outputs `[S, R, B, O]` and the tape for `backward`.
    """
    samples, replicas, _ = weights.shape
    n, batch = samples * replicas, inputs.shape[1]
    hidden, (rows, bias) = mlp.layers(weights.reshape(n, -1))
    h = inputs.expand(samples, *inputs.shape).reshape(n, batch, -1)
    activations, layer_inputs = [], []
    for layer, (matrix, offset) in enumerate(hidden):
        h = h if masks is None else _masked(h, masks[layer], samples)
        layer_inputs.append(h)
        h = torch.baddbmm(offset, h, matrix).relu_()
        activations.append(h)
    h = h if masks is None else _masked(h, masks[-1], samples)
    layer_inputs.append(h)
    columns = torch.bmm(rows, h.mT).add_(bias)
    # For speed: with one output, a transpose is not needed.
    if mlp.sizes[-1] == 1:
        outputs = columns.view(samples, replicas, batch, 1)
    else:
        outputs = columns.view(samples, replicas, -1, batch).mT
    return outputs, Tape(hidden, (rows, bias), activations, layer_inputs, masks)


def backward(tape: Tape, d_outputs: Tensor) -> Tensor:
    """Return the gradient of `sum(d_outputs * outputs)` with respect to the weights.

    Args:
        tape: from `forward`.
        d_outputs: `[S, R, B, O]`, gradient of the loss with respect to the outputs.

    Returns:
        `[S, R, P]`, one gradient per weight sample and network.
    """
    return _outer_sums(tape.layer_inputs, _deltas(tape, d_outputs), d_outputs)


def squared_backward(tape: Tape, d_outputs: Tensor) -> Tensor:
    """Sum the squared gradients of each row's `sum(d_outputs * outputs)` over rows.

    The gradient of a row in a layer is `outer(h, d)`, so the sum of its squares over rows is
    `(h^2)' (d^2)`: exact, at the cost of a second `backward` (the first step of eq. 4.60).

    Args:
        tape: from `forward`.
        d_outputs: `[S, R, B, O]`; for a weighted sum of squares, times the roots of the weights.

    Returns:
        `[S, R, P]`, one sum per weight sample and network.
    """
    squares = [h.square() for h in tape.layer_inputs]
    return _outer_sums(squares, [d.square() for d in _deltas(tape, d_outputs)], d_outputs)


def outer_factors(tape: Tape, d_outputs: Tensor) -> list[Layer]:
    """Return the gradient of every single row, as one outer product per layer.

    The gradient of `sum(d_outputs[b] * outputs[b])` of row b in a layer is `outer(h[b], d[b])`,
    with a one appended to h so that its last row is the bias. Flattened and concatenated over
    layers, this is one row of the Jacobian, in the order of the flat weights.

    Args:
        tape: from `forward`.
        d_outputs: `[S, R, B, O]`.

    Returns:
        Per layer, first to last, `h` `[S R, B, fan_in + 1]` and `d` `[S R, B, fan_out]`.
    """
    deltas = reversed(_deltas(tape, d_outputs))
    return [(pad(h, (0, 1), value=1.0), d) for h, d in zip(tape.layer_inputs, deltas, strict=True)]


def input_gradient(tape: Tape, d_outputs: Tensor) -> Tensor:
    """Return the gradient of `sum(d_outputs * outputs)` with respect to the inputs, per sample.

    Args:
        tape: from `forward` without masks.
        d_outputs: `[S, R, B, O]`.

    Returns:
        `[S, R, B, D]`.
    """
    first = _deltas(tape, d_outputs)[-1]
    matrix = tape.hidden[0][0].mT if tape.hidden else tape.output[0]
    return torch.unflatten(torch.bmm(first, matrix), 0, d_outputs.shape[:2])


def _deltas(tape: Tape, d_outputs: Tensor) -> list[Tensor]:
    """Backpropagate to the pre-activations `[S R, B, fan_out]` of every layer, last layer first."""
    samples, rows = len(d_outputs), tape.output[0]
    deltas = [d_outputs.flatten(0, 1)]
    # With one output an elementwise product, which is faster than a matrix product.
    d = deltas[0] * rows if rows.shape[1] == 1 else torch.bmm(deltas[0], rows)
    for layer in range(len(tape.hidden) - 1, -1, -1):
        if tape.masks is not None:
            d = _masked(d, tape.masks[layer + 1], samples)
        # The activation shows which ReLUs are active; a mask may be negative and change the sign.
        d = torch.ops.aten.threshold_backward(d, tape.activations[layer], 0)
        deltas.append(d)
        if layer > 0:
            d = torch.bmm(d, tape.hidden[layer][0].mT)
    return deltas


def _outer_sums(layer_inputs: list[Tensor], deltas: list[Tensor], like: Tensor) -> Tensor:
    """Sum `outer(h, d)` and `d` over rows for every layer, flattened to `[S, R, P]`."""
    samples, replicas, rows, outputs = like.shape
    n = samples * replicas
    ones = like.new_ones(1, 1, rows).expand(n, 1, rows)
    d = deltas[0]
    last = torch.bmm(d.mT, layer_inputs[-1])
    pieces = [d.sum(1), last.view(n, -1) if outputs == 1 else last.mT.flatten(1)]
    for d, h in zip(deltas[1:], layer_inputs[-2::-1], strict=True):
        pieces.append(torch.bmm(ones, d).view(n, -1))
        pieces.append(torch.bmm(h.mT, d).flatten(1))
    return torch.cat(pieces[::-1], 1).view(samples, replicas, -1)


def _masked(h: Tensor, mask: Tensor, samples: int) -> Tensor:
    """Multiply `h` `[S R, B, units]` by a mask broadcastable to `[S, R, B, units]`."""
    return (torch.unflatten(h, 0, (samples, -1)) * mask).flatten(0, 1)
