"""An encoder of images with every label, whose first layer sees each image once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bnnbench.layers import Layers, relu_backward


class EveryLabel:
    """Layers over `B` images, each with every one-hot label; outputs are `[R, out, L B]`.

    Args:
        weights: weights of each layer, `[R, in + 1, out]`; inputs of the first are `D` pixels and
            `L` labels.
        labels: `L`.
        columns: `B`.
        outputs: buffer for the outputs.

    Attributes:
        inputs: buffer for the pixels, `[R, D, B]`.
    """

    def __init__(
        self, weights: Sequence[Tensor], labels: int, columns: int, outputs: Tensor
    ) -> None:
        first = weights[0]
        replicas, pixels = len(first), first.shape[1] - labels - 1
        self._rows = pixels, labels, 1
        self._of_pixels, self._of_labels, self._bias = first.split(self._rows, 1)
        self._rest = Layers(weights[1:], labels * columns, outputs, linear_output=True)
        self._hidden = self._rest.inputs.unflatten(2, (labels, columns))
        self._common = first.new_empty(replicas, first.shape[2], columns)
        self.inputs = first.new_empty(replicas, pixels, columns)

    def forward(self) -> None:
        """Compute the outputs."""
        torch.bmm(self._of_pixels.mT, self.inputs, out=self._common)
        own = (self._of_labels + self._bias).mT
        torch.add(self._common.unsqueeze(2), own.unsqueeze(3), out=self._hidden).clamp_min_(0)
        self._rest.forward()

    def backward(self, slope: Tensor, gradients: Sequence[Tensor]) -> None:
        """Compute the gradient of a loss with respect to the weights.

        Args:
            slope: gradient of the loss at the outputs; overwritten.
            gradients: buffers for the gradients of the weights, which are overwritten.
        """
        at_hidden = self._rest.backward(slope, gradients[1:])
        relu_backward(at_hidden, self._rest.inputs)
        each = at_hidden.unflatten(2, self._hidden.shape[2:])
        of_pixels, of_labels, bias = gradients[0].split(self._rows, 1)
        torch.bmm(self.inputs, each.sum(2).mT, out=of_pixels)
        of_labels.copy_(each.sum(3).mT)
        torch.sum(of_labels, 1, keepdim=True, out=bias)
