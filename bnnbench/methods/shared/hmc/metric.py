"""A mass matrix for the posterior of a network, estimated from its curvature during warm-up.

Weights w = B q move as q would with an identity mass matrix (Neal, "MCMC using Hamiltonian
dynamics", 2011, section 4.1: the mass matrix is `(B B')^-1`). B is fixed after the warm-up. It has
one block per layer, the same for all units of the layer:

    B_l = (prior_precision I + C_l)^(-1/2)
    C_l = mean over the layer's units of the Gauss-Newton matrix of a unit's incoming weights,
          averaged over chains and over the transitions of a window of the warm-up

With the inputs h_n of a layer (and a one for the bias) and the gradients d_nu of the outputs by its
unit u, times the root of the loss's curvature at row n, `C_l = sum_n mean_u d_nu^2 h_n h_n'`. This
is exact for the last layer. The posterior is invariant to permutations of hidden units, so C_l is
averaged over all permutations of the layer's inputs, except those of the first layer.

Without a metric the step size is limited by the narrowest direction, along which all units move
together; on Boston the posterior is thousands of times wider along others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from bnnbench.likelihoods import Likelihood
from bnnbench.nn import MLP, forward, outer_factors
from bnnbench.types import Hyper, TrainingSet

Curvatures = Callable[[Tensor, Tensor], list[Tensor]]
"""Function of positions `[C, R, P]` and factors `[2, C, R]`: `prior_precision I + C_l` by layer.

`[R, fan_in + 1, fan_in + 1]` each, float64, averaged over the chains.
"""

WINDOW_ENDS = (1 / 8, 1 / 4, 1 / 2)
"""Ends of the adaptation windows, as fractions of the warm-up."""


@dataclass(frozen=True)
class EuclideanMetric:
    """The matrix B of R replicas.

    Attributes:
        roots: the block of each layer, symmetric, `[R, fan_in + 1, fan_in + 1]`.
    """

    roots: tuple[Tensor, ...]

    def __call__(self, vectors: Tensor) -> Tensor:
        """Multiply vectors `[C, R, P]` by B, which is symmetric."""
        ins = [root.shape[-1] for root in self.roots]
        lengths = [rows * (following - 1) for rows, following in pairwise(ins)]
        pieces = torch.split(vectors, [*lengths, vectors.shape[-1] - sum(lengths)], -1)
        products = [
            root @ torch.unflatten(piece, -1, (root.shape[-1], -1))
            for root, piece in zip(self.roots, pieces, strict=True)
        ]
        return torch.cat([product.flatten(-2) for product in products], -1)

    def flat(self) -> Tensor:
        """Return all blocks of a replica concatenated row by row, `[R, ...]`."""
        return torch.cat([root.flatten(1) for root in self.roots], 1)


class MetricAdaptation:
    """Estimates the metric from the curvature in successive windows of the warm-up.

    Args:
        curvatures: of the density; None for the identity metric.
        warm_up: number of transitions.
    """

    def __init__(self, curvatures: Curvatures | None, warm_up: int) -> None:
        self._curvatures = curvatures
        self._ends = [int(warm_up * end) for end in WINDOW_ENDS] if curvatures else []
        self._recorded: list[list[Tensor]] = []

    def starts_window(self, transition: int) -> bool:
        """Return whether a new metric is due before this transition."""
        return transition == 0 or transition in self._ends

    def record(self, transition: int, position: Tensor, factors: Tensor) -> None:
        """Record the curvature at the positions `[C, R, P]` after a transition."""
        if self._curvatures and transition < max(self._ends):
            self._recorded.append(self._curvatures(position, factors))

    def metric(self, position: Tensor, factors: Tensor) -> EuclideanMetric | None:
        """Return the metric of the last window, or of the initial positions if there was none."""
        if not self._curvatures:
            return None
        recorded, self._recorded = self._recorded or [self._curvatures(position, factors)], []
        means = [torch.stack(matrices).mean(0) for matrices in zip(*recorded, strict=True)]
        return EuclideanMetric(tuple(_inverse_root(mean).to(position.dtype) for mean in means))


def network_curvatures(
    mlp: MLP, likelihood: Likelihood, data: TrainingSet, hyper: Hyper
) -> Curvatures:
    """Return the curvatures of a network's posterior.

    Args:
        mlp: shape of the networks.
        likelihood: with its loss.
        data: R training sets.
        hyper: `[R, 1]` each, without the factors of the energy.
    """
    real = data.real.to(data.inputs.dtype)

    def of_chain(weights: Tensor, factors: Tensor) -> list[Tensor]:
        outputs, tape = forward(mlp, weights[None], data.inputs)
        layers = [torch.zeros((), dtype=torch.float32, device="cpu") for _ in mlp.sizes[1:]]
        for root in likelihood.curvature_roots(outputs, real, hyper):
            for k, (h, d) in enumerate(outer_factors(tape, root)):
                weighted = d.double().square().mean(2, keepdim=True) * h.double()
                layers[k] = layers[k] + h.double().mT @ weighted
        loss, prior = factors[..., None, None].unbind()
        return [
            zero_if_not_finite(loss * layer)
            + prior * torch.eye(layer.shape[-1], dtype=torch.float32, device="cpu").to(layer)
            for layer in layers
        ]

    def curvatures(position: Tensor, factors: Tensor) -> list[Tensor]:
        chains = [of_chain(position[c], factors[:, c]) for c in range(len(position))]
        means = [torch.stack(layer).mean(0) for layer in zip(*chains, strict=True)]
        return means[:1] + [average_permutations(mean) for mean in means[1:]]

    return curvatures


def average_permutations(matrices: Tensor) -> Tensor:
    """Average `[R, units + 1, units + 1]` over all permutations of the units, not the bias."""
    units = matrices.shape[-1] - 1
    block = matrices[:, :units, :units]
    diagonal = block.diagonal(dim1=1, dim2=2).mean(1)
    off_diagonal = (block.sum((1, 2)) - units * diagonal) / max(units * (units - 1), 1)
    last = matrices[:, :units, -1].mean(1, keepdim=True)
    averaged = matrices.clone()
    averaged[:, :units, :units] = off_diagonal[:, None, None]
    averaged[:, :units, :units].diagonal(dim1=1, dim2=2).copy_(diagonal[:, None])
    averaged[:, :units, -1] = averaged[:, -1, :units] = last
    return averaged


def zero_if_not_finite(matrices: Tensor) -> Tensor:
    """Replace matrices `[R, m, m]` that are not finite by zeros."""
    return torch.where(matrices.isfinite().all(2).all(1)[:, None, None], matrices, 0.0)


def _inverse_root(matrices: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(matrices)
    return torch.matmul(vectors * values.rsqrt()[:, None], vectors.mT)
