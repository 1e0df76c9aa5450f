"""Where a network's posterior is steep and where it is flat, so that chains move accordingly.

Weights w = B q move as q would under identity masses (Neal, "MCMC using Hamiltonian dynamics",
2011, section 4.1: masses are `(B B')^-1`). B is found while chains warm up and stays then. It has a
block for each layer, the same for all its units:

    B_l = (prior_precision I + C_l)^(-1/2)
    C_l = mean over the layer's units of the Gauss-Newton matrix of the weights that lead to one,
          averaged over chains and over the transitions of a window of the warm-up

With the inputs of a layer h_n (and a one for the bias) and the slopes d_nu of the outputs at its
unit u, times the root of the loss's curvature at row n, `C_l = sum_n mean_u d_nu^2 h_n h_n'`, which
of the last layer is exact. Hidden units can trade places, and a posterior knows none from another:
so C_l is averaged over all orders of those that lead to the layer.

Steps fit the narrowest direction, in which all units pull together: on Boston the posterior is
thousands of times as wide along others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from bnnbench.likelihoods.base import Likelihood
from bnnbench.nn import MLP, forward, outer_factors
from bnnbench.types import Hyper, TrainingSet

Curvatures = Callable[[Tensor, Tensor], list[Tensor]]
"""From positions `[C, R, P]` and factors `[2, C, R]` to `prior_precision I + C_l` of every layer.

`[R, fan_in + 1, fan_in + 1]` each, float64, averaged over the chains.
"""


ENDS = (1 / 8, 1 / 4, 1 / 2)
"""Of windows, as shares of the warm-up."""


@dataclass(frozen=True)
class Metric:
    """B of R replicas.

    Attributes:
        roots: B of every layer, symmetric, `[R, fan_in + 1, fan_in + 1]`.
    """

    roots: tuple[Tensor, ...]

    def __call__(self, vectors: Tensor) -> Tensor:
        """B times vectors `[C, R, P]`; it is its own transpose."""
        ins = [root.shape[-1] for root in self.roots]
        lengths = [rows * (following - 1) for rows, following in pairwise(ins)]
        pieces = vectors.split([*lengths, vectors.shape[-1] - sum(lengths)], -1)
        layers = zip(self.roots, pieces, strict=True)
        done = [root @ own.unflatten(-1, (root.shape[-1], -1)) for root, own in layers]
        return torch.cat([own.flatten(-2) for own in done], -1)

    def flat(self) -> Tensor:
        """All blocks of a replica behind one another, `[R, ...]`, row by row."""
        return torch.cat([root.flatten(1) for root in self.roots], 1)


class Windows:
    """Metrics while chains warm up, of what is seen in windows that end at `ENDS`.

    Args:
        curvatures: of the density; None to have no metric.
        warm_up: transitions.
    """

    def __init__(self, curvatures: Curvatures | None, warm_up: int) -> None:
        self._curvatures = curvatures
        self._ends = [int(warm_up * end) for end in ENDS] if curvatures else []
        self._seen: list[list[Tensor]] = []

    def closes(self, turn: int) -> bool:
        """Whether there is a new metric before this transition, as before the first."""
        return turn == 0 or turn in self._ends

    def saw(self, turn: int, position: Tensor, factors: Tensor) -> None:
        """Where chains `[C, R, P]` stand after this transition, and their factors."""
        if self._curvatures and turn < max(self._ends):
            self._seen.append(self._curvatures(position, factors))

    def metric(self, position: Tensor, factors: Tensor) -> Metric | None:
        """Of the window that closes; before the first transition, of where chains start."""
        if not self._curvatures:
            return None
        seen, self._seen = self._seen or [self._curvatures(position, factors)], []
        means = [torch.stack(own).mean(0) for own in zip(*seen, strict=True)]
        return Metric(tuple(_inverse_root(own).to(position.dtype) for own in means))


def curvatures_of(mlp: MLP, likelihood: Likelihood, data: TrainingSet, hyper: Hyper) -> Curvatures:
    """Those of a network's posterior.

    Args:
        mlp: the shape.
        likelihood: with its loss.
        data: R training sets.
        hyper: `[R, 1]` each, of which the loss is no multiple.
    """
    real = data.real.to(data.inputs.dtype)

    def of_chain(weights: Tensor, factors: Tensor) -> list[Tensor]:
        outputs, tape = forward(mlp, weights[None], data.inputs)
        layers = [torch.zeros(()) for _ in mlp.sizes[1:]]
        for root in likelihood.curvature_roots(outputs, real, hyper):
            for k, (h, d) in enumerate(outer_factors(tape, root)):
                weighted = d.double().square().mean(2, keepdim=True) * h.double()
                layers[k] = layers[k] + h.double().mT @ weighted
        loss, prior = factors[..., None, None].unbind()
        return [finite(loss * own) + prior * torch.eye(own.shape[-1]).to(own) for own in layers]

    def curvatures(position: Tensor, factors: Tensor) -> list[Tensor]:
        found = [of_chain(position[c], factors[:, c]) for c in range(len(position))]
        means = [torch.stack(own).mean(0) for own in zip(*found, strict=True)]
        return means[:1] + [exchangeable(own) for own in means[1:]]

    return curvatures


def exchangeable(matrices: Tensor) -> Tensor:
    """The average of `[R, units + 1, units + 1]` over all orders of the units, without the last."""
    units = matrices.shape[-1] - 1
    own = matrices[:, :units, :units]
    each = own.diagonal(dim1=1, dim2=2).mean(1)
    pairs = (own.sum((1, 2)) - units * each) / max(units * (units - 1), 1)
    last = matrices[:, :units, -1].mean(1, keepdim=True)
    averaged = matrices.clone()
    averaged[:, :units, :units] = pairs[:, None, None]
    averaged[:, :units, :units].diagonal(dim1=1, dim2=2).copy_(each[:, None])
    averaged[:, :units, -1] = averaged[:, -1, :units] = last
    return averaged


def finite(matrices: Tensor) -> Tensor:
    """`[R, m, m]` with zeros for those that are not finite."""
    return torch.where(matrices.isfinite().all(2).all(1)[:, None, None], matrices, 0.0)


def _inverse_root(matrices: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(matrices)
    return (vectors * values.rsqrt()[:, None]) @ vectors.mT
