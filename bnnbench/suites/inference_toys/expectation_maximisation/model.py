"""A mixture of two univariate Gaussians: likelihood, bound, posterior and gradient.

`p(z = 1) = pi`, `y | z = 1 ~ N(mu_1, s_1^2)`, `y | z = 0 ~ N(mu_2, s_2^2)` (Alvarez, "Approximate
inference for neural networks", Universidad Tecnologica de Pereira). Components are the last axis;
the lecture's `z = 1` is the first component.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, logsumexp, softmax

LOG_TWO_PI = float(np.log(2 * np.pi))


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
    squares = (points[:, None] - parameters.loc) ** 2 / parameters.variance
    logs = -0.5 * (LOG_TWO_PI + np.log(parameters.variance) + squares)
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
