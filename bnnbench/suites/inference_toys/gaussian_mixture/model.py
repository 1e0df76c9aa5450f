"""The mixture model: synthetic data, variational factors, ELBO, and the exact posterior.

Means `mu_k ~ N(0, prior_variance)`, `k = 1..K`; each point belongs to one component, all equally
likely, and `x_i ~ N(mu_{c_i}, 1)` (density-ratio thesis, section 3.6, after Blei, Kucukelbir and
McAuliffe, 2017). The factors are `q(mu_k) = N(loc_k, variance_k)`, the thesis's `m_k` and `s_k^2`,
and `q(c_i = k) = responsibilities_ik`, its `phi_ik`.

The exact posterior of a small mixture is a sum over all `K^N` assignments of points to components:
given the assignments, the means are independent with conjugate priors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import entr, logsumexp

from bnnbench.suites.inference_toys.maths import LOG_TWO_PI

MAX_ASSIGNMENTS = 3**10
"""Maximum number of enumerated assignments: ten points, three components, a few seconds."""


@dataclass(frozen=True)
class MixtureFactors:
    """Mean and variance of the means, `[K]` each, and probabilities of assignments, `[N, K]`."""

    loc: np.ndarray
    variance: np.ndarray
    responsibilities: np.ndarray


def draw_points(means: Sequence[float], count: int, random: np.random.Generator) -> np.ndarray:
    """Draw points `[count]` from the mixture with these means."""
    labels = random.integers(0, len(means), count)
    return np.array(means, dtype=float)[labels] + random.normal(size=count)


def elbo(points: np.ndarray, factors: MixtureFactors, prior_variance: float) -> float:
    """Return the evidence lower bound, `E_q[log p(mu, c, x)] - E_q[log q(mu, c)]`, in nats.

    The thesis prints the first expectations, and the one in (3.6.2), over `p`; its next lines
    correctly use expectations over `q`.
    """
    loc, variance, weights = factors.loc, factors.variance, factors.responsibilities
    ratio = variance / prior_variance
    means = 0.5 * (np.log(ratio) + 1 - ratio - loc**2 / prior_variance).sum()
    expected = -0.5 * (LOG_TWO_PI + (points[:, None] - loc) ** 2 + variance) - np.log(len(loc))
    return float(means + (weights * expected).sum() + entr(weights).sum())


@dataclass(frozen=True)
class Enumeration:
    """All `C = K^N` assignments, and the posterior given each.

    Attributes:
        log_joint: log density of each assignment and the points, means integrated out, `[C]`, nats.
        loc: posterior expectations of the means given each assignment, `[C, K]`.
        variance: posterior variances of the means given each assignment, `[C, K]`.
    """

    log_joint: np.ndarray
    loc: np.ndarray
    variance: np.ndarray

    @property
    def log_evidence(self) -> float:
        """The log evidence in nats."""
        return float(logsumexp(self.log_joint))

    @property
    def weights(self) -> np.ndarray:
        """The posterior probability of each assignment, `[C]`."""
        return np.exp(self.log_joint - self.log_evidence)


def enumerate_assignments(
    points: np.ndarray, components: int, prior_variance: float
) -> Enumeration:
    """Return the exact posterior of K components given points `[N]`."""
    codes = np.arange(components ** len(points))
    counts = np.zeros((len(codes), components))
    sums = np.zeros_like(counts)
    for point in points:
        codes, label = np.divmod(codes, components)
        rows = np.arange(len(codes))
        counts[rows, label] += 1
        sums[rows, label] += point
    variance = 1 / (1 / prior_variance + counts)
    constant = -len(points) * (np.log(components) + 0.5 * LOG_TWO_PI) - 0.5 * (points**2).sum()
    logs = 0.5 * (np.log(variance / prior_variance) + variance * sums**2)
    return Enumeration(constant + logs.sum(1), variance * sums, variance)


def lowest_mean(posterior: Enumeration) -> tuple[float, float]:
    """Return the posterior mean and standard deviation of the lowest component mean.

    Model and exact posterior are invariant to permutations of the components, so every `mu_k` has
    the same marginal. Here the components are identified, for each assignment, by the order of
    their posterior means given that assignment.
    """
    rows = np.arange(len(posterior.loc))
    lowest = posterior.loc.argmin(1)
    loc, variance = posterior.loc[rows, lowest], posterior.variance[rows, lowest]
    mean = posterior.weights @ loc
    return float(mean), float(np.sqrt(posterior.weights @ (variance + (loc - mean) ** 2)))


def exact_prior_variance(points: np.ndarray, components: int, low: float, high: float) -> float:
    """Return the prior variance between `low` and `high` that maximises the exact evidence."""

    def loss(log_variance: float) -> float:
        return -enumerate_assignments(points, components, np.exp(log_variance)).log_evidence

    limits = (np.log(low), np.log(high))
    result = minimize_scalar(loss, bounds=limits, method="bounded", options={"xatol": 1e-8})
    return float(np.exp(result.x))
