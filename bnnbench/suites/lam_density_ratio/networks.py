"""Generator and estimator of the sprinkler as stacks of replicas, with hand-derived gradients.

Figures 5.2 and 5.3 of the density-ratio thesis, with the sizes given there. Both networks have a
branch for their own input (noise of the generator, causes of the estimator), a branch for the
observation, and a head on top of both. Hidden layers are ReLU, outputs linear.

Layers are those of `bnnbench.layers`. If many columns share a few distinct observations, the
observation branch is computed once for each distinct value, and its contribution to the first layer
of the head becomes an extra weight per value. This is exact and saves two fifths of the work.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from bnnbench.layers import Chain, Layers, Weights, matmul_into, relu_backward


@dataclass(frozen=True)
class Architecture:
    """Layer sizes of a network with two branches.

    Attributes:
        main: sizes of the branch of the network's own input, from that input on.
        observation: sizes of the observation's branch, from the observation on; empty if the
            network has no other branch than `main`.
        head: sizes of the layers on top of both branches; the last is the output.
    """

    main: tuple[int, ...]
    observation: tuple[int, ...] = (1, 40, 80)
    head: tuple[int, ...] = (40, 80, 1)

    @property
    def chains(self) -> tuple[Chain, Chain, Chain]:
        """Layer sizes of the main branch, the observation's branch and the head, inputs first."""
        if not self.observation:
            return self.main, (), ()
        return self.main, self.observation, (self.main[-1] + self.observation[-1], *self.head)


GENERATOR = Architecture(main=(3, 80), head=(40, 80, 2))
"""`G(noise; x)`, which returns a draw from q(z|x): 13,562 parameters."""

ESTIMATOR = Architecture(main=(2, 40, 80))
"""The pre-activation `a(z, x)` of a density ratio: 16,561 parameters."""


class Parameters(Weights):
    """Weights of a network, or their gradients, by branch: `main`, `observation` and `head`.

    Args:
        architecture: layer sizes.
        flat: `[R, P]`, on any device.
    """

    def __init__(self, architecture: Architecture, flat: Tensor) -> None:
        super().__init__(architecture.chains, flat)
        self.architecture = architecture
        self.main, self.observation, self.head = self.chains

    def zeros_like(self) -> Parameters:
        """Return zeros of the same shape, for gradients."""
        return Parameters(self.architecture, torch.zeros_like(self.flat))


def initial_weights(architecture: Architecture, seed: int) -> Tensor:
    """Return Xavier-uniform weights with zero biases, `[P]`, float64 (thesis, 5.2).

    Uniform within `±sqrt(6 / (in + out))`, where `in` of the head's first layer counts both
    branches.
    """
    random, pieces = torch.Generator().manual_seed(seed), []
    for chain in architecture.chains:
        for inp, out in pairwise(chain):
            layer = torch.zeros(inp + 1, out, dtype=torch.float64, device="cpu")
            bound = math.sqrt(6 / (inp + out))
            layer[:-1].uniform_(-bound, bound, generator=random)
            pieces.append(layer.flatten())
    return torch.cat(pieces)


class BufferedNetwork:
    """Forward and backward pass of a stack of networks, in preallocated buffers.

    Write the inputs to `inputs` `[R, in, B]` and, unless they are shared, the observations to
    `observations` `[R, D, B / repeats]`. Then call `forward` and, if needed, `backward` for that
    evaluation.

    Args:
        parameters: parameters of all replicas; read in every call.
        columns: number of samples, `B`.
        shared: `[K]`, distinct observations, each shared by an equally long run of adjacent
            columns; None if every column has its own observation.
        repeats: how often the sequence of observations is repeated along the columns.
    """

    def __init__(
        self, parameters: Parameters, columns: int, shared: Tensor | None = None, repeats: int = 1
    ) -> None:
        flat, sizes = parameters.flat, parameters.architecture
        width, last = sizes.main[-1], sizes.observation[-1]
        n_observations = columns // repeats if shared is None else len(shared)
        self._parameters, self._width, self._shared = parameters, width, shared is not None
        self._repeats = repeats
        if shared is None and repeats == 1:
            self._joint = flat.new_ones(len(flat), width + last + 1, columns)
            self._features = self._joint[:, width:]
        elif shared is None:
            self._joint = flat.new_empty(len(flat), width, columns)
            self._features = flat.new_ones(len(flat), last + 1, n_observations)
        else:
            identity = torch.eye(n_observations, dtype=flat.dtype, device=flat.device)
            run = columns // (n_observations * repeats)
            self._joint = flat.new_zeros(len(flat), width + n_observations, columns)
            self._joint[:, width:] = identity.repeat_interleave(run, 1).repeat(1, repeats)
            self._features = flat.new_ones(len(flat), last + 1, n_observations)
            self._weight = flat.new_empty(len(flat), width + n_observations, sizes.head[0])
            self._weight_slope = torch.empty_like(self._weight)
        self.outputs = flat.new_empty(len(flat), sizes.head[-1], columns)
        self._main = Layers(parameters.main, columns, self._joint[:, :width])
        self._seen = Layers(parameters.observation, n_observations, self._features[:, :-1])
        self._head = Layers(parameters.head[1:], columns, self.outputs, linear_output=True)
        self.inputs, self.observations = self._main.inputs, self._seen.inputs
        if shared is not None:
            self.observations[:, 0] = shared
        self._main_slope = flat.new_empty(len(flat), width, columns)
        self._seen_slope = flat.new_empty(len(flat), last, n_observations)

    def forward(self) -> Tensor:
        """Return the outputs `[R, out, B]`, in a buffer that the next call overwrites."""
        self._main.forward()
        self._seen.forward()
        weight, inputs = self._parameters.head[0], self._head.inputs
        if self._shared:  # a row per shared observation
            first, weight = weight, self._weight
            weight[:, : self._width] = first[:, : self._width]
            torch.bmm(self._features.mT, first[:, self._width :], out=weight[:, self._width :])
        torch.bmm(weight[:, : self._joint.shape[1]].mT, self._joint, out=inputs)
        if not self._shared and self._repeats > 1:
            own = torch.bmm(weight[:, self._width :].mT, self._features)
            torch.unflatten(inputs, 2, (self._repeats, -1)).add_(own.unsqueeze(2))
        inputs.clamp_min_(0)
        self._head.forward()
        return self.outputs

    def backward(
        self,
        slope: Tensor,
        gradients: Parameters | None,
        add: bool = False,
        to_inputs: bool = False,
    ) -> Tensor:
        """Compute the derivatives of a loss after `forward`, as `Layers.backward` does."""
        slope = self._head.backward(slope, gradients.head[1:] if gradients else None, add)
        relu_backward(slope, self._head.inputs)
        torch.bmm(self._parameters.head[0][:, : self._width], slope, out=self._main_slope)
        if gradients:
            self._observation_backward(slope, gradients, add)
        main = gradients.main if gradients else None
        return self._main.backward(self._main_slope, main, add, to_inputs)

    def _observation_backward(self, slope: Tensor, gradients: Parameters, add: bool) -> None:
        """Compute gradients of the head's first layer and of the observation's branch."""
        first, buffer, width = self._parameters.head[0], gradients.head[0], self._width
        if self._shared:
            torch.bmm(self._joint, slope.mT, out=self._weight_slope)
            of_main, slope = self._weight_slope[:, :width], self._weight_slope[:, width:].mT
            buffer[:, :width] = buffer[:, :width] + of_main if add else of_main
            matmul_into(self._features, slope.mT, buffer[:, width:], add)
        elif self._repeats > 1:
            matmul_into(self._joint, slope.mT, buffer[:, :width], add)
            slope = torch.unflatten(slope, 2, (self._repeats, -1)).sum(2)
            matmul_into(self._features, slope.mT, buffer[:, width:], add)
        else:
            matmul_into(self._joint, slope.mT, buffer, add)
        torch.bmm(first[:, width:-1], slope, out=self._seen_slope)
        self._seen.backward(self._seen_slope, gradients.observation, add, to_inputs=False)
