"""The mixture model: synthetic data, variational factors, ELBO and predictions.

Means `mu_k ~ N(0, prior_variance)`, `k = 1..K`; each point belongs to one component, all equally
likely, and `x_i ~ N(mu_{c_i}, 1)` (density-ratio thesis, section 3.6, after Blei, Kucukelbir and
McAuliffe, 2017). The factors are `q(mu_k) = N(loc_k, variance_k)`, the thesis's `m_k` and `s_k^2`,
and `q(c_i = k) = responsibilities_ik`, its `phi_ik`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, logsumexp

from bnnbench.suites.inference_toys.maths import LOG_TWO_PI
from bnnbench.suites.inference_toys.mixtures import log_gaussians


@dataclass(frozen=True)
class Factors:
    """Mean and variance of the means, `[K]` each, and probabilities of assignments, `[N, K]`."""

    loc: np.ndarray
    variance: np.ndarray
    responsibilities: np.ndarray


def draw_points(means: Sequence[float], count: int, random: np.random.Generator) -> np.ndarray:
    """Draw points `[count]` from the mixture with these means."""
    labels = random.integers(0, len(means), count)
    return np.array(means, dtype=float)[labels] + random.normal(size=count)


def elbo(points: np.ndarray, factors: Factors, prior_variance: float) -> float:
    """Return the evidence lower bound, `E_q[log p(mu, c, x)] - E_q[log q(mu, c)]`, in nats.

    The thesis prints the first expectations, and the one in (3.6.2), over `p`; its next lines
    correctly use expectations over `q`.
    """
    loc, variance, weights = factors.loc, factors.variance, factors.responsibilities
    ratio = variance / prior_variance
    means = 0.5 * (np.log(ratio) + 1 - ratio - loc**2 / prior_variance).sum()
    expected = -0.5 * (LOG_TWO_PI + (points[:, None] - loc) ** 2 + variance) - np.log(len(loc))
    return float(means + (weights * expected).sum() + entr(weights).sum())


def log_predictive(points: np.ndarray, loc: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the log density of points `[M]` under equally weighted `N(loc, 1 + variance)`.

    The moments of the means have shape `[..., K]`, the result `[..., M]`. The variance of known
    means is zero.
    """
    logs = logsumexp(log_gaussians(points, loc, 1 + variance), axis=-1)
    log_density: np.ndarray = logs - np.log(loc.shape[-1])
    return log_density
