"""Fully connected ReLU layers of stacked replicas, with hand-derived gradients in buffers.

The feature axis comes before the column axis (a column is a sample). Weights are `[R, in + 1, out]`
with the biases in the last row, activations `[R, features + 1, B]` with a last row of ones. So
adding a bias takes no extra pass over memory, and one product gives the gradients of weights and
biases.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

Chain = tuple[int, ...]
"""Sizes of the layers of a network, from its input on."""


class Weights:
    """Weights, or their gradients, as views of a flat tensor.

    Args:
        chains: layer sizes of each network.
        flat: `[R, P]`.

    Attributes:
        chains: layers of each network, `[R, in + 1, out]` with biases in the last row.
    """

    def __init__(self, chains: Sequence[Chain], flat: Tensor) -> None:
        self.flat, self._sizes = flat, chains
        sizes = [[(inp + 1, out) for inp, out in pairwise(chain)] for chain in chains]
        pieces = iter(torch.split(flat, [rows * out for own in sizes for rows, out in own], 1))
        self.chains = [[next(pieces).view(len(flat), *size) for size in own] for own in sizes]

    def zeros_like(self) -> Weights:
        """Return zeros of the same shape, for gradients."""
        return Weights(self._sizes, torch.zeros_like(self.flat))


class Layers:
    """A sequence of ReLU layers over fixed weights, with buffers for their activations.

    Args:
        weights: weights of each layer, `[R, in + 1, out]`.
        columns: number of columns, `B`.
        outputs: buffer for the last outputs, `[R, out, B]`.
        linear_output: whether the last layer has no ReLU.

    Attributes:
        inputs: buffer for the first inputs, `[R, in, B]`.
    """

    def __init__(
        self, weights: Sequence[Tensor], columns: int, outputs: Tensor, linear_output: bool = False
    ) -> None:
        # Inputs have a last row of ones; outputs are the next layer's inputs without it.
        self._with_ones = [w.new_ones(len(w), w.shape[1], columns) for w in weights]
        self._outputs = [*(layer[:, :-1] for layer in self._with_ones[1:]), outputs]
        self._slopes = [torch.empty_like(layer[:, :-1]) for layer in self._with_ones]
        self._rectified = [True] * (len(weights) - 1) + [not linear_output]
        self._forward_weights = [w.mT for w in weights]
        self._backward_weights = [w[:, :-1] for w in weights]
        self.inputs = self._with_ones[0][:, :-1]

    def forward(self) -> None:
        """Compute the outputs of all layers."""
        for weight, inputs, outputs, rectified in zip(
            self._forward_weights, self._with_ones, self._outputs, self._rectified, strict=True
        ):
            torch.bmm(weight, inputs, out=outputs)
            if rectified:
                outputs.clamp_min_(0)

    def backward(
        self,
        slope: Tensor,
        gradients: Sequence[Tensor] | None,
        add: bool = False,
        to_inputs: bool = True,
        from_input: int = 0,
    ) -> Tensor:
        """Compute the derivatives of a loss with respect to weights and inputs.

        Args:
            slope: gradient of the loss at the last outputs, `[R, out, B]`; overwritten.
            gradients: buffers for the gradients of the weights; None to skip these.
            add: whether to add to `gradients` instead of overwriting them.
            to_inputs: whether to compute the gradient at the first inputs.
            from_input: number of first inputs at which the gradient is not needed.

        Returns:
            The gradient at the first inputs from `from_input` on, in a buffer. Undefined unless
            `to_inputs`.
        """
        for k in reversed(range(len(self._slopes))):
            if self._rectified[k]:
                relu_backward(slope, self._outputs[k])
            if gradients is not None:
                matmul_into(self._with_ones[k], slope.mT, gradients[k], add)
            kept = slice(0 if k else from_input, None)
            into = self._slopes[k][:, kept]
            if k > 0 or to_inputs:
                torch.bmm(self._backward_weights[k][:, kept], slope, out=into)
            slope = into
        return slope


def relu_backward(slope: Tensor, activation: Tensor) -> None:
    """Set `slope` to zero where a ReLU is inactive."""
    torch.ops.aten.threshold_backward.grad_input(slope, activation, 0, grad_input=slope)


def matmul_into(left: Tensor, right: Tensor, out: Tensor, add: bool) -> None:
    """Write a batched matrix product to `out`, or add it."""
    if add:
        torch.baddbmm(out, left, right, out=out)
    else:
        torch.bmm(left, right, out=out)
