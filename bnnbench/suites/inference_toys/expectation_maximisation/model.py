"""A mixture of two Gaussians on a line: its likelihood, its bound and their parts.

`p(z = 1) = pi`, `y | z = 1 ~ N(mu_1, s_1^2)`, `y | z = 0 ~ N(mu_2, s_2^2)` (Alvarez, "Approximate
inference for neural networks", Universidad Tecnologica de Pereira). Components are the last axis,
the lecture's `z = 1` first.
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
        weight: of each component, `[2]`: pi and 1 - pi.
        loc: means, `[2]`.
        variance: `[2]`.
    """

    weight: np.ndarray
    loc: np.ndarray
    variance: np.ndarray

    def flat(self) -> np.ndarray:
        """Weights, means and variances, `[6]`."""
        return np.concatenate([self.weight, self.loc, self.variance])

    def in_order(self) -> Parameters:
        """The same density, the component with the lower mean first."""
        order = np.argsort(self.loc, kind="stable")
        return Parameters(self.weight[order], self.loc[order], self.variance[order])


def log_joint(points: np.ndarray, parameters: Parameters) -> np.ndarray:
    """`ln p(y_n, z)` of points `[N]` for both values of z, `[N, 2]`, nats."""
    squares = (points[:, None] - parameters.loc) ** 2 / parameters.variance
    logs = -0.5 * (LOG_TWO_PI + np.log(parameters.variance) + squares)
    found: np.ndarray = np.log(parameters.weight) + logs
    return found


def log_likelihood(points: np.ndarray, parameters: Parameters) -> float:
    """`ln p(y | theta)` of points `[N]`, nats."""
    return float(logsumexp(log_joint(points, parameters), axis=1).sum())


def posterior(points: np.ndarray, parameters: Parameters) -> np.ndarray:
    """The E-step: `q(z_n) = p(z_n | y_n, theta)`, `[N, 2]`."""
    found: np.ndarray = softmax(log_joint(points, parameters), axis=1)
    return found


def bound(points: np.ndarray, q: np.ndarray, parameters: Parameters) -> float:
    """`sum_n sum_z q(z_n) ln (p(y_n, z_n | theta) / q(z_n))`, nats: at most the log-likelihood.

    The lecture's remark on EM leaves out the sum over n of the entropy's term. With it missing the
    bound would no longer touch the likelihood after an E-step; its slides on Jensen's inequality
    have it. Its remark on variational EM prints `ln p(y) / p(z)` for `ln p(y)`.

    Args:
        points: `[N]`.
        q: `[N, 2]`.
        parameters: theta.
    """
    return float((q * log_joint(points, parameters)).sum() + entr(q).sum())


def slope(points: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Derivative of the log-likelihood by both means, `[2]`, in closed form.

    It is that of the bound that touches there (Fisher's identity), although the lecture says that
    gradients have no closed form; what has none is the place where they vanish.
    """
    distances = (points[:, None] - parameters.loc) / parameters.variance
    found: np.ndarray = (posterior(points, parameters) * distances).sum(0)
    return found
