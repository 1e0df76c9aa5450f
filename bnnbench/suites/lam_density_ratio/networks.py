"""The two networks of the sprinkler as stacks of replicas, with a gradient derived by hand.

Figures 5.2 and 5.3 of the density-ratio thesis; the sizes are in the figures. Both have a branch
for their own input (noise of the generator, causes of the estimator), a branch for the observation,
and layers on top of both. All hidden layers are ReLU and all outputs linear.

Features stand before columns (a column is a sample): weights are `[R, in + 1, out]`, whose last
row are the biases, and activations `[R, features + 1, B]` with a last row of ones. So a bias
costs no pass over memory, and its gradient comes with the product that gives those of the weights.
Where few distinct observations are shared by many columns, their branch is computed once for each,
and what it adds to the first joint layer is one more weight for each of them: exact, and it saves
two fifths of the work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor


@dataclass(frozen=True)
class Architecture:
    """Sizes of a network with two branches.

    Attributes:
        main: of the branch of its own input, which is the first.
        observation: of the branch of the observation.
        head: of the layers above both; the last is the output.
    """

    main: tuple[int, ...]
    observation: tuple[int, ...] = (1, 40, 80)
    head: tuple[int, ...] = (40, 80, 1)

    @property
    def branches(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """`(out, in)` of every layer: of the main branch, the observation's and the head."""
        joint = self.main[-1] + self.observation[-1]
        chains = (self.main, self.observation, (joint, *self.head))
        return tuple(tuple((out, inp) for inp, out in pairwise(chain)) for chain in chains)

    @property
    def parameters(self) -> int:
        """How many weights and biases one replica has."""
        return sum(out * (inp + 1) for branch in self.branches for out, inp in branch)


GENERATOR = Architecture(main=(3, 80), head=(40, 80, 2))
"""`G(noise; x)`, a draw from q(z|x): 13,562 parameters."""

ESTIMATOR = Architecture(main=(2, 40, 80))
"""The pre-activation `a(z, x)` of a density ratio: 16,561 parameters."""


class Parameters:
    """Weights, or their gradients, as views of a flat `[R, P]`.

    Args:
        architecture: the sizes.
        flat: `[R, P]`, on any device.
    """

    def __init__(self, architecture: Architecture, flat: Tensor) -> None:
        self.architecture, self.flat = architecture, flat
        views, start = [], 0
        for branch in architecture.branches:
            layers = []
            for out, inp in branch:
                size = out * (inp + 1)
                layers.append(flat[:, start : start + size].view(len(flat), inp + 1, out))
                start += size
            views.append(layers)
        self.main, self.observation, self.head = views

    def like(self) -> Parameters:
        """Zeros of the same shape, for gradients."""
        return Parameters(self.architecture, torch.zeros_like(self.flat))


def initial_weights(architecture: Architecture, seed: int) -> Tensor:
    """Xavier's uniform weights with zero biases, `[P]`, float64 (thesis, 5.2).

    Uniform on plus and minus `sqrt(6 / (in + out))`, where `in` of the first joint layer counts
    both branches.
    """
    random, pieces = torch.Generator().manual_seed(seed), []
    for branch in architecture.branches:
        for out, inp in branch:
            layer = torch.zeros(inp + 1, out, dtype=torch.float64)
            bound = math.sqrt(6 / (inp + out))
            layer[:-1].uniform_(-bound, bound, generator=random)
            pieces.append(layer.flatten())
    return torch.cat(pieces)


class Chain:
    """Layers one on another, over weights and buffers that stay where they are.

    Args:
        weights: of each layer, `[R, in + 1, out]`.
        inputs: of each layer, `[R, in + 1, B]`, the last row ones.
        outputs: of each layer, `[R, out, B]`: the next one's input without its ones.
        linear_end: whether the last layer has no ReLU.
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        linear_end: bool = False,
    ) -> None:
        self._inputs, self._outputs = inputs, outputs
        self._rectified = [True] * (len(weights) - 1) + [not linear_end]
        self._up, self._down = [w.mT for w in weights], [w[:, :-1] for w in weights]
        self._slopes = [torch.empty_like(layer[:, :-1]) for layer in inputs]

    def forward(self) -> None:
        """Fills the outputs."""
        for weight, inputs, outputs, rectified in zip(
            self._up, self._inputs, self._outputs, self._rectified, strict=True
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
    ) -> Tensor:
        """Derivatives of a loss with respect to weights and inputs.

        Args:
            slope: of the loss in the last outputs, `[R, out, B]`; overwritten.
            gradients: where those of the weights go; None if they are not wanted.
            add: whether to add to the gradients.
            to_inputs: whether those of the first inputs are wanted.

        Returns:
            Those of the first inputs, `[R, in, B]`, in a buffer; without meaning if not wanted.
        """
        for k in range(len(self._down) - 1, -1, -1):
            if self._rectified[k]:
                relu_slope(slope, self._outputs[k])
            if gradients is not None:
                product(self._inputs[k], slope.mT, gradients[k], add)
            if k > 0 or to_inputs:
                torch.bmm(self._down[k], slope, out=self._slopes[k])
            slope = self._slopes[k]
        return slope


def relu_slope(slope: Tensor, activation: Tensor) -> None:
    """Sets `slope` to zero where a ReLU is at rest."""
    torch.ops.aten.threshold_backward.grad_input(slope, activation, 0, grad_input=slope)


def product(left: Tensor, right: Tensor, out: Tensor, add: bool) -> None:
    """Batched matrix product into, or onto, `out`."""
    if add:
        torch.baddbmm(out, left, right, out=out)
    else:
        torch.bmm(left, right, out=out)


class Pass:
    """Evaluates a stack of networks on so many columns and derives, in buffers that stay.

    Write the inputs into `inputs` `[R, in, B]` and, unless they are shared, the observations into
    `observations` `[R, 1, B]`; then call `forward` and, for that evaluation, `backward`.

    Args:
        parameters: of all replicas; read at every call.
        columns: how many samples, `B`.
        shared: `[K]`, the distinct observations, each that of neighbouring columns, as many for
            each; None if every column has its own.
        turns: how often they come round.
    """

    def __init__(
        self, parameters: Parameters, columns: int, shared: Tensor | None = None, turns: int = 1
    ) -> None:
        flat, sizes = parameters.flat, parameters.architecture
        self._parameters, self._shared = parameters, shared is not None
        width, last = sizes.main[-1], sizes.observation[-1]
        self._width, own = width, columns if shared is None else len(shared)

        def ones(features: int, columns: int) -> Tensor:
            return flat.new_ones(len(flat), features + 1, columns)

        main = [ones(size, columns) for size in sizes.main[:-1]]
        seen = [ones(size, own) for size in sizes.observation[:-1]]
        head = [ones(size, columns) for size in sizes.head[:-1]]
        if shared is None:
            self._joint = ones(width + last, columns)
            self._features = self._joint[:, width:]
        else:
            each = torch.eye(own, dtype=flat.dtype, device=flat.device)
            owner = each.repeat_interleave(columns // (own * turns), 1).repeat(1, turns)
            self._joint = flat.new_zeros(len(flat), width + own, columns)
            self._joint[:, width:] = owner
            self._features = ones(last, own)
            seen[0][:, 0] = shared
            self._weight = flat.new_empty(len(flat), width + own, sizes.head[0])
            self._weight_slope = torch.empty_like(self._weight)
        self.inputs, self.observations = main[0][:, :-1], seen[0][:, :-1]
        self.outputs = flat.new_empty(len(flat), sizes.head[-1], columns)
        self._main = Chain(parameters.main, main, _outputs(main, self._joint[:, :width]))
        own_features = _outputs(seen, self._features[:, :-1])
        self._seen = Chain(parameters.observation, seen, own_features)
        self._joined = head[0][:, :-1]
        self._head = Chain(parameters.head[1:], head, _outputs(head, self.outputs), linear_end=True)
        self._main_slope = flat.new_empty(len(flat), width, columns)
        self._seen_slope = flat.new_empty(len(flat), last, own)

    def forward(self) -> Tensor:
        """The linear outputs `[R, out, B]`, in a buffer that the next call overwrites."""
        self._main.forward()
        self._seen.forward()
        torch.bmm(self._joint_weight().mT, self._joint, out=self._joined)
        self._joined.clamp_min_(0)
        self._head.forward()
        return self.outputs

    def _joint_weight(self) -> Tensor:
        """Of the first joint layer; where observations are shared, one more for each of them."""
        first, width = self._parameters.head[0], self._width
        if not self._shared:
            return first
        self._weight[:, :width] = first[:, :width]
        torch.bmm(self._features.mT, first[:, width:], out=self._weight[:, width:])
        return self._weight

    def backward(
        self,
        slope: Tensor,
        gradients: Parameters | None,
        add: bool = False,
        to_inputs: bool = False,
    ) -> Tensor:
        """Derivatives of a loss after `forward`.

        Args:
            slope: of the loss in the outputs, `[R, out, B]`; overwritten.
            gradients: where those of the parameters go; None if they are not wanted.
            add: whether to add to the gradients.
            to_inputs: whether those of `inputs` are wanted.

        Returns:
            Those of `inputs`, `[R, in, B]`, in a buffer; without meaning if not wanted.
        """
        own = gradients.head[1:] if gradients else None
        slope = self._head.backward(slope, own, add)
        relu_slope(slope, self._joined)
        torch.bmm(self._parameters.head[0][:, : self._width], slope, out=self._main_slope)
        if gradients:
            self._observation_backward(slope, gradients, add)
        own = gradients.main if gradients else None
        return self._main.backward(self._main_slope, own, add, to_inputs)

    def _observation_backward(self, slope: Tensor, gradients: Parameters, add: bool) -> None:
        """Of the first joint layer and of the observation's branch."""
        first, own, width = self._parameters.head[0], gradients.head[0], self._width
        if self._shared:
            product(self._joint, slope.mT, self._weight_slope, add=False)
            of_main, slope = self._weight_slope[:, :width], self._weight_slope[:, width:].mT
            if add:
                own[:, :width] += of_main
            else:
                own[:, :width] = of_main
            product(self._features, slope.mT, own[:, width:], add)
        else:
            product(self._joint, slope.mT, own, add)
        torch.bmm(first[:, width:-1], slope, out=self._seen_slope)
        self._seen.backward(self._seen_slope, gradients.observation, add, to_inputs=False)


def _outputs(inputs: Sequence[Tensor], end: Tensor) -> list[Tensor]:
    """Where layers put what they compute: the next one's input without its ones, and the end."""
    return [*(layer[:, :-1] for layer in inputs[1:]), end]
