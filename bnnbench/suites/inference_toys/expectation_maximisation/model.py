"""A mixture of two univariate Gaussians: likelihood, bound, EM and reference solutions.

`p(z = 1) = pi`, `y | z = 1 ~ N(mu_1, s_1^2)`, `y | z = 0 ~ N(mu_2, s_2^2)` (Alvarez, "Approximate
inference for neural networks", Universidad Tecnologica de Pereira). The lecture's `z = 1` is the
first component. Its theta is a matrix `[3, 2]` with the rows weights, means and variances.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr, expit, logit, logsumexp, softmax

from bnnbench.suites.inference_toys.mixtures import Ascent, Degenerate, ascend, log_gaussians

MIN_COUNT = 1e-12
"""Smallest total responsibility with which a component can be updated."""

START_OFFSET = 0.3
"""Offset of the start from EM's result, in log-odds, standard deviations and log variances."""


def sorted_by_mean(theta: np.ndarray) -> np.ndarray:
    """Return the same mixture with the component of lower mean first."""
    return theta[:, np.argsort(theta[1], kind="stable")]


def log_joint(points: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return `ln p(y_n, z)` of points `[N]` for both values of z, `[N, 2]`, nats."""
    weight, loc, variance = theta
    joint: np.ndarray = np.log(weight) + log_gaussians(points, loc, variance)
    return joint


def log_likelihood(points: np.ndarray, theta: np.ndarray) -> float:
    """Return `ln p(y | theta)` of points `[N]`, nats."""
    return float(logsumexp(log_joint(points, theta), axis=1).sum())


def posterior(points: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return `q(z_n) = p(z_n | y_n, theta)` of the E-step, `[N, 2]`."""
    q: np.ndarray = softmax(log_joint(points, theta), axis=1)
    return q


def bound(points: np.ndarray, q: np.ndarray, theta: np.ndarray) -> float:
    """Return the lower bound `sum_n sum_z q(z_n) ln (p(y_n, z_n | theta) / q(z_n))`, nats.

    The lecture's remark on EM omits the sum over n in the entropy term, without which the bound is
    not tight after an E-step; its slides on Jensen's inequality include it. Its remark on
    variational EM prints `ln p(y) / p(z)` for `ln p(y)`.
    """
    return float((q * log_joint(points, theta)).sum() + entr(q).sum())


def m_step(points: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return theta that maximises the bound, given points `[N]` and responsibilities `[N, 2]`."""
    counts = q.sum(0)
    loc = points @ q / counts
    variance = (q * (points[:, None] - loc) ** 2).sum(0) / counts
    return np.array([counts / len(points), loc, variance])


def run_em(
    points: np.ndarray, start: np.ndarray, iterations: int, tolerance: float, min_variance: float
) -> Ascent[np.ndarray]:
    """Alternate E-steps and M-steps from one start theta.

    A component whose variance, relative to that of the points `[N]`, is below `min_variance` has
    collapsed onto one value, where the likelihood is unbounded.
    """

    def step(theta: np.ndarray) -> np.ndarray:
        q = posterior(points, theta)
        if q.sum(0).min() <= MIN_COUNT:
            k = q.sum(0).argmin() + 1
            message = f"component {k} lost all its points in iteration {{iteration}}"
            raise Degenerate("empty", message)
        theta = m_step(points, q)
        k = theta[2].argmin()
        if theta[2, k] < min_variance * points.var():
            raise Degenerate(
                "collapsed",
                f"component {k + 1} collapsed onto y = {theta[1, k]:.4g} in iteration "
                f"{{iteration}} (variance {theta[2, k]:.1e}), where the likelihood is unbounded",
            )
        return theta

    return ascend(step, start, lambda theta: log_likelihood(points, theta), iterations, tolerance)


def random_start(points: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Draw two distinct data values as means; variances are those of the data, weights equal."""
    loc = random.choice(np.unique(points), 2, replace=False)
    return np.array([np.full(2, 0.5), loc, np.full(2, points.var())])


def collapsing_start(points: np.ndarray) -> np.ndarray:
    """Return a start from which the first component collapses onto the most isolated point.

    Its standard deviation is a quarter of the distance to the nearest other point. The second
    component has the mean and variance of the data.
    """
    ordered = np.sort(points)
    gaps = np.diff(ordered, prepend=-np.inf, append=np.inf)
    nearest = np.minimum(gaps[:-1], gaps[1:])
    isolated = nearest.argmax()
    variance = [(nearest[isolated] / 4) ** 2, points.var()]
    return np.array([[0.5, 0.5], [ordered[isolated], points.mean()], variance])


def local_maximum(points: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Maximise the likelihood with BFGS from a start close to, but not at, `near`.

    The free variables are the log-odds of the weight, the means and the log variances.
    """

    def theta(free: np.ndarray) -> np.ndarray:
        weight = expit(free[0])
        return np.array([[weight, 1 - weight], free[1:3], np.exp(free[3:])])

    def loss(free: np.ndarray) -> float:
        return -log_likelihood(points, theta(free)) / len(points)

    weight, loc, variance = near
    free = np.array([logit(weight[0]), *loc, *np.log(variance)])
    start = free + START_OFFSET * np.array([1, *np.sqrt(variance), 1, 1])
    return theta(minimize(loss, start, options={"gtol": 1e-8}).x)
