"""Two correlated Gaussian variables, and their approximation by independent ones.

Book, sections 3.2.1.3 (the mean-field approximation) and 3.2.2.1; Bishop, "Pattern Recognition and
Machine Learning", section 10.1.2. The pair is `p = Normal(0, covariance)`, its factorised
approximation `q = Normal(0, diag(variance))`.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.kl_shapes.fitting import Values


def covariance_matrix(correlation: float) -> Values:
    """Return the covariance matrix of two variables of variance 1, `[2, 2]`."""
    return np.array([[1.0, correlation], [correlation, 1.0]])


def kl_divergence(mean: Values, variance: Values, covariance: Values, forward: bool) -> float:
    """Return KL(p || q) in nats if `forward`, else KL(q || p), for mean and variance `[2]` of q."""
    q, p = (mean, np.diag(variance)), (np.zeros(2), covariance)
    return gaussian_kl(*p, *q) if forward else gaussian_kl(*q, *p)


def gaussian_kl(
    mean: Values, covariance: Values, other_mean: Values, other_covariance: Values
) -> float:
    """Return KL(Normal(mean, covariance) || Normal(other_mean, other_covariance)) in nats."""
    difference = other_mean - mean
    inverse = np.linalg.inv(other_covariance)
    log_dets = np.linalg.slogdet(other_covariance)[1] - np.linalg.slogdet(covariance)[1]
    quadratic = np.trace(inverse @ covariance) + difference @ inverse @ difference
    return float(0.5 * (quadratic - len(difference) + log_dets))


def fit_factorised(covariance: Values, forward: bool) -> Values:
    """Return the variances `[2]` of the factorised Gaussian that minimises a KL divergence.

    The minimisation is numerical; the closed forms are `1 / precision_ii` (reverse KL) and
    `covariance_ii` (forward KL).
    """
    zero = np.zeros(2)
    result = minimize(
        lambda logs: kl_divergence(zero, np.exp(logs), covariance, forward), zero, tol=1e-12
    )
    return np.exp(result.x)
