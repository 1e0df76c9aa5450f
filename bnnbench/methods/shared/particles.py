"""Particles that follow the slope of a log density and keep apart, by a kernel between them.

With the kernel `k(x, y) = exp(-|x - y|^2 / (2 h^2))` of M particles, whose width is
`h^2 = median |x - y|^2 / (2 log(M + 1))`, and the score s(x), the slope of the log density, a
particle x_i moves along one of

    svgd     1/M sum_j (k(x_i, x_j) s(x_j) + grad_j k(x_i, x_j))
    kde_wgd  s(x_i) - sum_j grad_i k(x_i, x_j) / sum_j k(x_i, x_j)
    sge_wgd  s(x_i) - [(K + eta I)^-1 G]_i,   G_i = sum_j grad_i k(x_i, x_j)

Stein variational gradient descent, Liu & Wang, NeurIPS 2016, eq. 8 and section 5 for the width; and
two ways of estimating the slope of the particles' own log density in the Wasserstein gradient flow,
by a kernel density and by Stein's identity, D'Angelo & Fortuin, "Repulsive Deep Ensembles are
Bayesian", NeurIPS 2021, section 3.

Shapes: particles and scores `[R, M, Q]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

ETA = 0.01
"""Of `sge_wgd`, as in the authors' code."""

Drift = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Of the particles, their scores, and the kernel's share beside them, `[R, 1, 1]`."""


def squared_distances(particles: Tensor) -> Tensor:
    """Between all pairs, `[R, M, M]`."""
    # From their mean, or what is common to all of them would cost the digits that tell them apart.
    centred = particles - particles.mean(1, keepdim=True)
    squares = centred.square().sum(2)
    products = torch.bmm(centred, centred.mT)
    found = (squares[:, :, None] + squares[:, None, :] - 2 * products).clamp(min=0)
    return found * (1 - torch.eye(len(found[0]), dtype=found.dtype, device=found.device))


def squared_width(distances: Tensor) -> Tensor:
    """`h^2` by the median of all `M^2` squared distances, zeros included, `[R, 1, 1]`."""
    count = distances.shape[1] ** 2
    ordered = distances.flatten(1).sort(1).values
    median = 0.5 * (ordered[:, (count - 1) // 2] + ordered[:, count // 2])
    tiny = torch.finfo(distances.dtype).tiny  # one particle has no distance to any other
    return (0.5 * median / math.log(distances.shape[1] + 1)).clamp(min=tiny)[:, None, None]


def kernel(particles: Tensor) -> tuple[Tensor, Tensor]:
    """The kernel between all particles, `[R, M, M]`, and `sum_j grad_j k(x_i, x_j)`, `[R, M, Q]`.

    The latter points away from the others. The width is taken as a constant.
    """
    distances = squared_distances(particles)
    width = squared_width(distances)
    values = torch.exp(-0.5 * distances / width)
    centred = particles - particles.mean(1, keepdim=True)
    apart = values.sum(2, keepdim=True) * centred - torch.bmm(values, centred)
    return values, apart / width


def svgd(particles: Tensor, scores: Tensor, share: Tensor) -> Tensor:
    """Every particle follows the scores of all, weighted by how near they are."""
    values, apart = kernel(particles)
    return (torch.bmm(values, scores) + share * apart) / particles.shape[1]


def kde_wgd(particles: Tensor, scores: Tensor, share: Tensor) -> Tensor:
    """Every particle follows its own score, less that of the particles' kernel density."""
    values, apart = kernel(particles)
    return scores + share * apart / values.sum(2, keepdim=True)


def sge_wgd(particles: Tensor, scores: Tensor, share: Tensor) -> Tensor:
    """The same with Stein's estimate of the score of the particles' density."""
    values, apart = kernel(particles)
    ridge = ETA * torch.eye(particles.shape[1], dtype=values.dtype, device=values.device)
    return scores + share * torch.linalg.solve_ex(values + ridge, apart).result


DRIFTS: Mapping[str, Drift] = {"svgd": svgd, "kde_wgd": kde_wgd, "sge_wgd": sge_wgd}
