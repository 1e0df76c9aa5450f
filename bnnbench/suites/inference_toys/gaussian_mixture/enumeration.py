"""The exact posterior of a small mixture by summing over all assignments of points to components.

Given the assignments, the means are independent with conjugate priors, so evidence, predictions and
moments are finite sums over `K^N` terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from bnnbench.suites.inference_toys.gaussian_mixture.model import log_predictive
from bnnbench.suites.inference_toys.maths import LOG_TWO_PI

MAX_ASSIGNMENTS = 3**10
"""Maximum number of enumerated assignments: ten points, three components, a few seconds."""


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


def exact_log_predictive(posterior: Enumeration, points: np.ndarray) -> np.ndarray:
    """Return the log density `[M]` of new points `[M]` under the exact posterior, in nats."""
    log_weights = posterior.log_joint - posterior.log_evidence
    given = posterior.loc, posterior.variance
    logs = [logsumexp(log_weights + log_predictive(point[None], *given)[:, 0]) for point in points]
    return np.array(logs)


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
