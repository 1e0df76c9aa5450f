"""Two distances between draws of q and the exact posterior of the sprinkler.

`average_kl` is the thesis's metric, for comparison with its tables. The other one avoids its kernel
density estimate and includes the prior's constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bnnbench.suites.lam_density_ratio import sprinkler

KERNEL_BATCH_SIZES = {"cpu": 1, "cuda": 64}
"""Number of kernel matrices `[n, n]` in memory at a time, by device."""

NEIGHBOUR_RANK = 5
"""Rank of the nearest neighbour from which the entropy is estimated."""


def log_unnormalised(samples: Tensor, observations: Tensor) -> Tensor:
    """Return `log p(x|z) + log p(z)` without the prior's constant, `[..., K, n]`.

    `samples` are `[..., K, n, 2]` and `observations` `[K]`.
    """
    mean = sprinkler.BASE_MEAN + samples.clamp_min(0).pow(3).sum(-1)
    prior = samples.square().sum(-1) / (2 * sprinkler.PRIOR_VARIANCE)
    return -mean.log() - observations[:, None] / mean - prior


def log_kernel_density(samples: Tensor) -> Tensor:
    """Return the log of a Gaussian kernel density at its own points, `[M, n]`, float64.

    A product kernel with bandwidth `1.06 std n^(-1/6)` per dimension, where `std` has divisor n:
    the rule `normal_reference` of statsmodels in two dimensions. (Appendix A of the thesis prints
    the exponent -1/5 of one dimension; its programs use -1/6.)

    Args:
        samples: `[M, n, 2]`, M sets of points.
    """
    points, (sets, count, _) = samples.double(), samples.shape
    bandwidth = 1.06 * points.std(1, correction=0, keepdim=True) * count ** (-1 / 6)
    scaled = (points - points.mean(1, keepdim=True)) / bandwidth
    half, ones = scaled.square().sum(2, keepdim=True) / 2, points.new_ones(sets, count, 1)
    # One product computes -|u - v|^2 / 2 for all pairs.
    left, right = torch.cat([scaled, -half, ones], 2), torch.cat([scaled, ones, -half], 2)
    step = KERNEL_BATCH_SIZES[points.device.type]
    kernels = [
        torch.bmm(left[k : k + step], right[k : k + step].mT).exp_().sum(2)
        for k in range(0, sets, step)
    ]
    norm: Tensor = count * 2 * math.pi * bandwidth.prod(2)
    return torch.cat(kernels).log() - norm.log()


def average_kl(samples: Tensor, observations: Sequence[float]) -> Tensor:
    """Return the "average KL" of the thesis (5.2) as its programs compute it, nats, `[R]`, float64.

    The mean over observations and draws of `log q(z) - log p~(z)`, where q is a kernel density
    evaluated at its own draws, and p~ the posterior without its normaliser and the prior's
    constant. It equals the KL divergence of q from the posterior plus 1.3198, plus the error of the
    kernel density. 1000 exact draws per observation score 1.3241 (standard deviation 0.002).

    Args:
        samples: `[R, K, n, 2]`.
        observations: the K observations.
    """
    replicas, count = samples.shape[:2]
    log_q = log_kernel_density(samples.flatten(0, 1)).view(replicas, count, -1)
    data = torch.tensor(observations, dtype=torch.float64, device=samples.device)
    return (log_q - log_unnormalised(samples.double(), data)).mean((1, 2))


def nearest_neighbour_kl(samples: np.ndarray, observations: Sequence[float]) -> float:
    """Return the mean over observations of KL(q(z|x) || p(z|x)), nats.

    The entropy of q is estimated from the distances to the fifth nearest neighbours (Kozachenko and
    Leonenko 1987); the cross-entropy is a mean of the exact log posterior, normalised by
    quadrature. 20,000 exact draws per observation score 0.003 (standard deviation 0.002). If q is
    concentrated near a curve or has atoms, its entropy is underestimated and the divergence
    overestimated.

    Args:
        samples: `[K, n, 2]`, distinct draws.
        observations: the K observations.

    Returns:
        NaN if a draw is not finite.
    """
    from scipy.spatial import cKDTree
    from scipy.special import digamma

    if not np.isfinite(samples).all():
        return math.nan
    divergences = []
    for x, points in zip(observations, samples.astype(np.float64), strict=True):
        count = len(points)
        distance = cKDTree(points).query(points, [NEIGHBOUR_RANK + 1])[0][:, 0]
        logs = np.log(np.maximum(distance, np.finfo(np.float64).tiny))
        entropy = digamma(count) - digamma(NEIGHBOUR_RANK) + math.log(math.pi) + 2 * logs.mean()
        divergences.append(-entropy - sprinkler.log_posterior(x, points).mean())
    return float(np.mean(divergences))
