"""Distances between Gaussians that are not functions of their density ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.divergences.base import Divergence, Pair


def fisher(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """Fisher-Rao distance: geodesic length under the Fisher information (thesis, section 5.0.1).

    `2 sqrt(2) asinh(sqrt(w))` with `w = ((q_loc - p_loc)^2 / 2 + (q_scale - p_scale)^2) /
    (4 q_scale p_scale)`. This equals the thesis's logarithm but does not cancel near equality
    (Costa, Santos and Strapasson 2015). The gradient at equality, a kink, is set to 0.
    """
    across, along = (q_loc - p_loc) / p_scale, (q_scale - p_scale) / p_scale
    square = (0.5 * across.square() + along.square()) / (4 * q_scale / p_scale)
    differ = square > 0
    root = torch.where(differ, torch.where(differ, square, 1).sqrt(), 0)
    return 2 * math.sqrt(2) * torch.asinh(root)


def wasserstein2(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """Squared 2-Wasserstein distance `(q_loc - p_loc)^2 + (q_scale - p_scale)^2`.

    Squared, so that the sum over weights is the distance between the joint distributions and is
    smooth at equality. In squared units of the weights (Olkin and Pukelsheim 1982; mentioned in
    the thesis, section 6.2).
    """
    return (q_loc - p_loc).square() + (q_scale - p_scale).square()


@dataclass(frozen=True, kw_only=True)
class Fisher(Divergence):
    """The Fisher-Rao distance, the thesis's F."""

    identity_name = "bnnbench.divergences.distances.Fisher"
    between = staticmethod(fisher)


@dataclass(frozen=True, kw_only=True)
class Wasserstein2(Divergence):
    """The squared 2-Wasserstein distance."""

    identity_name = "bnnbench.divergences.distances.Wasserstein2"
    between = staticmethod(wasserstein2)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        return 2 * loc, 2 * (scale - prior_precision.rsqrt())
