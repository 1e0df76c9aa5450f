"""Particle-based variational inference: particles follow the score and repel each other.

The kernel of M particles is `k(x, y) = exp(-|x - y|^2 / (2 h^2))` with the bandwidth
`h^2 = median |x - y|^2 / (2 log(M + 1))`. With the score s(x), the gradient of the log density, a
particle x_i moves along one of

    svgd     1/M sum_j (k(x_i, x_j) s(x_j) + grad_j k(x_i, x_j))
    kde_wgd  s(x_i) - sum_j grad_i k(x_i, x_j) / sum_j k(x_i, x_j)
    sge_wgd  s(x_i) - [(K + eta I)^-1 G]_i,   G_i = sum_j grad_i k(x_i, x_j)

`svgd` is Stein variational gradient descent: Liu & Wang, NeurIPS 2016, eq. 8, and section 5 for the
bandwidth. The other two are Wasserstein gradient flows, with the score of the particles' own
density estimated from a kernel density or by Stein's identity: D'Angelo & Fortuin, "Repulsive Deep
Ensembles are Bayesian", NeurIPS 2021, section 3.

Shapes: particles and scores `[R, M, Q]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

ETA = 0.01
"""Regularisation of `sge_wgd`, as in the authors' code."""

Drift = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Function of the particles, their scores, and the weight of the repulsion, `[R, 1, 1]`."""


def squared_distances(particles: Tensor) -> Tensor:
    """Return the squared distances of all pairs, `[R, M, M]`."""
    # Centred, since a large common offset would cancel badly.
    centred = particles - particles.mean(1, keepdim=True)
    squares = centred.square().sum(2)
    products = torch.bmm(centred, centred.mT)
    distances = (squares[:, :, None] + squares[:, None, :] - 2 * products).clamp(min=0)
    identity = torch.eye(len(distances[0]), dtype=distances.dtype, device=distances.device)
    return distances * (1 - identity)


def squared_bandwidth(distances: Tensor) -> Tensor:
    """Return `h^2` from the median of all `M^2` squared distances, zeros included, `[R, 1, 1]`."""
    count = distances.shape[1] ** 2
    ordered = distances.flatten(1).sort(1).values
    median = 0.5 * (ordered[:, (count - 1) // 2] + ordered[:, count // 2])
    tiny = torch.finfo(distances.dtype).tiny  # a single particle has no distances
    return (0.5 * median / math.log(distances.shape[1] + 1)).clamp(min=tiny)[:, None, None]


def kernel(particles: Tensor) -> tuple[Tensor, Tensor]:
    """Return the kernel matrix, `[R, M, M]`, and the repulsion `sum_j grad_j k(x_i, x_j)`.

    The repulsion `[R, M, Q]` points away from the other particles. The bandwidth is treated as a
    constant.
    """
    distances = squared_distances(particles)
    bandwidth = squared_bandwidth(distances)
    values = torch.exp(-0.5 * distances / bandwidth)
    centred = particles - particles.mean(1, keepdim=True)
    repulsion = values.sum(2, keepdim=True) * centred - torch.bmm(values, centred)
    return values, repulsion / bandwidth


def svgd(particles: Tensor, scores: Tensor, weight: Tensor) -> Tensor:
    """Follow the scores of all particles, weighted by the kernel."""
    values, repulsion = kernel(particles)
    return (torch.bmm(values, scores) + weight * repulsion) / particles.shape[1]


def kde_wgd(particles: Tensor, scores: Tensor, weight: Tensor) -> Tensor:
    """Follow the score of the target minus that of the particles' kernel density."""
    values, repulsion = kernel(particles)
    return scores + weight * repulsion / values.sum(2, keepdim=True)


def sge_wgd(particles: Tensor, scores: Tensor, weight: Tensor) -> Tensor:
    """Like `kde_wgd`, with Stein's estimate of the score of the particles' density."""
    values, repulsion = kernel(particles)
    ridge = ETA * torch.eye(particles.shape[1], dtype=values.dtype, device=values.device)
    estimate: Tensor = torch.linalg.solve_ex(values + ridge, repulsion).result
    return scores + weight * estimate


DRIFTS: Mapping[str, Drift] = {"svgd": svgd, "kde_wgd": kde_wgd, "sge_wgd": sge_wgd}
