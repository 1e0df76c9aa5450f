"""A mixture of two univariate Gaussians: likelihood, bound and expectation maximisation.

`p(z = 1) = pi`, `y | z = 1 ~ N(mu_1, s_1^2)`, `y | z = 0 ~ N(mu_2, s_2^2)` (Alvarez, "Approximate
inference for neural networks", Universidad Tecnologica de Pereira). Components are the last axis;
the lecture's `z = 1` is the first component.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, logsumexp, softmax

from bnnbench.suites.inference_toys.mixtures import Ascent, Degenerate, ascend, log_normal

MIN_COUNT = 1e-12
"""Smallest total responsibility with which a component can be updated."""


@dataclass(frozen=True)
class Parameters:
    """The lecture's theta.

    Attributes:
        weight: weights pi and 1 - pi, `[2]`.
        loc: means, `[2]`.
        variance: variances, `[2]`.
    """

    weight: np.ndarray
    loc: np.ndarray
    variance: np.ndarray

    def flatten(self) -> np.ndarray:
        """Return weights, means and variances, `[6]`."""
        return np.concatenate([self.weight, self.loc, self.variance])

    def sorted_by_mean(self) -> Parameters:
        """Return the same mixture with the component of lower mean first."""
        order = np.argsort(self.loc, kind="stable")
        return Parameters(self.weight[order], self.loc[order], self.variance[order])


def log_joint(points: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Return `ln p(y_n, z)` of points `[N]` for both values of z, `[N, 2]`, nats."""
    logs = log_normal(points, parameters.loc, parameters.variance)
    joint: np.ndarray = np.log(parameters.weight) + logs
    return joint


def log_likelihood(points: np.ndarray, parameters: Parameters) -> float:
    """Return `ln p(y | theta)` of points `[N]`, nats."""
    return float(logsumexp(log_joint(points, parameters), axis=1).sum())


def posterior(points: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Return `q(z_n) = p(z_n | y_n, theta)` of the E-step, `[N, 2]`."""
    q: np.ndarray = softmax(log_joint(points, parameters), axis=1)
    return q


def bound(points: np.ndarray, q: np.ndarray, parameters: Parameters) -> float:
    """Return the lower bound `sum_n sum_z q(z_n) ln (p(y_n, z_n | theta) / q(z_n))`, nats.

    The lecture's remark on EM omits the sum over n in the entropy term, without which the bound is
    not tight after an E-step; its slides on Jensen's inequality include it. Its remark on
    variational EM prints `ln p(y) / p(z)` for `ln p(y)`.

    Args:
        points: `[N]`.
        q: responsibilities, `[N, 2]`.
        parameters: theta.
    """
    return float((q * log_joint(points, parameters)).sum() + entr(q).sum())


def gradient(points: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Return the closed-form gradient of the log-likelihood with respect to both means, `[2]`.

    By Fisher's identity it equals the gradient of the tight bound. The lecture says that gradients
    have no closed form, but only their root has none.
    """
    distances = (points[:, None] - parameters.loc) / parameters.variance
    result: np.ndarray = (posterior(points, parameters) * distances).sum(0)
    return result


def m_step(points: np.ndarray, q: np.ndarray) -> Parameters:
    """Return theta that maximises the bound.

    Args:
        points: `[N]`.
        q: responsibilities, `[N, 2]`; both components must have points.
    """
    counts = q.sum(0)
    loc = points @ q / counts
    variance = (q * (points[:, None] - loc) ** 2).sum(0) / counts
    return Parameters(counts / len(points), loc, variance)


def run_em(
    points: np.ndarray, start: Parameters, iterations: int, tolerance: float, min_variance: float
) -> Ascent[Parameters]:
    """Alternate E-steps and M-steps from one start.

    Args:
        points: `[N]`.
        start: initial theta.
        iterations: maximum number of iterations.
        tolerance: relative change of the log-likelihood below which EM has converged.
        min_variance: variance, relative to the data's, below which a component has collapsed onto
            one value, where the likelihood is unbounded.
    """

    def step(parameters: Parameters) -> Parameters:
        q = posterior(points, parameters)
        k = int(q.sum(0).argmin())
        if q[:, k].sum() <= MIN_COUNT:
            raise Degenerate(
                "empty", f"component {k + 1} lost all its points in iteration {{iteration}}"
            )
        new = m_step(points, q)
        k = int(new.variance.argmin())
        if new.variance[k] < min_variance * points.var():
            raise Degenerate(
                "collapsed",
                f"component {k + 1} collapsed onto y = {new.loc[k]:.4g} in iteration {{iteration}} "
                f"(variance {new.variance[k]:.1e}), where the likelihood is unbounded",
            )
        return new

    return ascend(step, start, lambda theta: log_likelihood(points, theta), iterations, tolerance)


def random_start(points: np.ndarray, random: np.random.Generator) -> Parameters:
    """Draw two distinct data values as means; variances are those of the data, weights equal."""
    loc = random.choice(np.unique(points), 2, replace=False)
    return Parameters(np.full(2, 0.5), loc, np.full(2, points.var()))


def collapsing_start(points: np.ndarray) -> Parameters:
    """Return a start from which the first component collapses onto the most isolated point.

    Its standard deviation is a quarter of the distance to the nearest other point. The second
    component has the mean and variance of the data.
    """
    ordered = np.sort(points)
    gaps = np.diff(ordered, prepend=-np.inf, append=np.inf)
    nearest = np.minimum(gaps[:-1], gaps[1:])
    isolated = int(nearest.argmax())
    loc = np.array([ordered[isolated], points.mean()])
    variance = np.array([(nearest[isolated] / 4) ** 2, points.var()])
    return Parameters(np.full(2, 0.5), loc, variance)
