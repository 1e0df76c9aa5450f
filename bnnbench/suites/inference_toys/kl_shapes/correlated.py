"""Two correlated Gaussian variables, and their approximation by independent ones.

Book, sections 3.2.1.3 (the mean-field approximation) and 3.2.2.1; Bishop, "Pattern Recognition and
Machine Learning", section 10.1.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True)
class CorrelatedPair:
    """`Normal(0, [[1, correlation], [correlation, 1]])`."""

    correlation: float

    @property
    def covariance(self) -> Values:
        """The covariance matrix, `[2, 2]`."""
        return np.array([[1.0, self.correlation], [self.correlation, 1.0]])

    @property
    def precision(self) -> Values:
        """The precision matrix, `[2, 2]`."""
        return np.asarray(np.linalg.inv(self.covariance), dtype=np.float64)


@dataclass(frozen=True)
class Factorised:
    """`Normal(loc, diag(variance))`.

    Attributes:
        loc: `[2]`.
        variance: `[2]`.
    """

    loc: Values
    variance: Values


def reverse_kl(q: Factorised, p: CorrelatedPair) -> float:
    """Return KL(q || p) in nats."""
    return gaussian_kl(q.loc, np.diag(q.variance), np.zeros(2), p.covariance)


def forward_kl(q: Factorised, p: CorrelatedPair) -> float:
    """Return KL(p || q) in nats."""
    return gaussian_kl(np.zeros(2), p.covariance, q.loc, np.diag(q.variance))


def gaussian_kl(
    mean: Values, covariance: Values, other_mean: Values, other_covariance: Values
) -> float:
    """Return KL(Normal(mean, covariance) || Normal(other_mean, other_covariance)) in nats."""
    difference = other_mean - mean
    inverse = np.linalg.inv(other_covariance)
    log_dets = np.linalg.slogdet(other_covariance)[1] - np.linalg.slogdet(covariance)[1]
    quadratic = np.trace(inverse @ covariance) + difference @ inverse @ difference
    return float(0.5 * (quadratic - len(difference) + log_dets))


def fit_factorised(p: CorrelatedPair, forward: bool) -> Values:
    """Return the variances `[2]` of the factorised Gaussian that minimises a KL divergence.

    The minimisation is numerical; the closed forms are `1 / precision_ii` (reverse KL) and
    `covariance_ii` (forward KL).
    """
    from scipy.optimize import minimize

    kl = forward_kl if forward else reverse_kl
    result = minimize(
        lambda logs: kl(Factorised(np.zeros(2), np.exp(logs)), p), np.zeros(2), tol=1e-12
    )
    return np.exp(result.x)


def coordinate_ascent(p: CorrelatedPair, start: Factorised, sweeps: int) -> Iterator[Factorised]:
    """Yield the start, and q after every update of one factor (section 3.2.1.4).

    `q(z_i)` becomes `Normal(-precision_ij loc_j / precision_ii, 1 / precision_ii)`, so each
    sweep over both factors multiplies the means by `correlation^2`.
    """
    yield start
    q, precision = start, p.precision
    for i in [0, 1] * sweeps:
        loc, variance = q.loc.copy(), q.variance.copy()
        loc[i] = -precision[i, 1 - i] * loc[1 - i] / precision[i, i]
        variance[i] = 1 / precision[i, i]
        q = Factorised(loc, variance)
        yield q
