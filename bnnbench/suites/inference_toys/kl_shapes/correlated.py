"""Two correlated Gaussian variables, and what a Gaussian of independent ones makes of them.

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
class Correlated:
    """`Normal(0, [[1, correlation], [correlation, 1]])`."""

    correlation: float

    @property
    def covariance(self) -> Values:
        """`[2, 2]`."""
        return np.array([[1.0, self.correlation], [self.correlation, 1.0]])

    @property
    def precision(self) -> Values:
        """`[2, 2]`, its inverse."""
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


def reverse_kl(q: Factorised, p: Correlated) -> float:
    """KL(q || p) in nats."""
    return gaussian_kl(q.loc, np.diag(q.variance), np.zeros(2), p.covariance)


def forward_kl(q: Factorised, p: Correlated) -> float:
    """KL(p || q) in nats."""
    return gaussian_kl(np.zeros(2), p.covariance, q.loc, np.diag(q.variance))


def gaussian_kl(
    mean: Values, covariance: Values, other_mean: Values, other_covariance: Values
) -> float:
    """KL(Normal(mean, covariance) || the other) in nats, of K variables."""
    away = other_mean - mean
    inverse = np.linalg.inv(other_covariance)
    log_dets = np.linalg.slogdet(other_covariance)[1] - np.linalg.slogdet(covariance)[1]
    spread = np.trace(inverse @ covariance) + away @ inverse @ away
    return float(0.5 * (spread - len(away) + log_dets))


def nearest_variances(p: Correlated, forward: bool) -> Values:
    """The variances `[2]` of the factorised Gaussian that minimises one of the two KL divergences.

    By minimisation, to be held against `1 / precision_ii` and `covariance_ii`.
    """
    from scipy.optimize import minimize

    kl = forward_kl if forward else reverse_kl
    found = minimize(
        lambda logs: kl(Factorised(np.zeros(2), np.exp(logs)), p), np.zeros(2), tol=1e-12
    )
    return np.exp(found.x)


def coordinate_ascent(p: Correlated, start: Factorised, sweeps: int) -> Iterator[Factorised]:
    """The start, and q after every update of one factor given the other (section 3.2.1.4).

    `q(z_i)` becomes `Normal(-precision_ij loc_j / precision_ii, 1 / precision_ii)`, so the means
    shrink by `correlation^2` in every sweep over both.
    """
    yield start
    q, precision = start, p.precision
    for i in [0, 1] * sweeps:
        loc, variance = q.loc.copy(), q.variance.copy()
        loc[i] = -precision[i, 1 - i] * loc[1 - i] / precision[i, i]
        variance[i] = 1 / precision[i, i]
        q = Factorised(loc, variance)
        yield q
