"""The mixture model: synthetic data, variational factors, ELBO and predictions.

Means `mu_k ~ N(0, prior_variance)`, `k = 1..K`; each point belongs to one component, all equally
likely, and `x_i ~ N(mu_{c_i}, 1)` (density-ratio thesis, section 3.6, after Blei, Kucukelbir and
McAuliffe, 2017). The factors are `q(mu_k) = N(loc_k, variance_k)`, the thesis's `m_k` and `s_k^2`,
and `q(c_i = k) = responsibilities_ik`, its `phi_ik`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, logsumexp

from bnnbench.checks import check_between
from bnnbench.types import UserError

LOG_TWO_PI = float(np.log(2 * np.pi))


def check_means(key: str, means: tuple[float, ...]) -> None:
    """Raise `UserError` unless `means`, the value of setting `key`, are means of a mixture."""
    if not isinstance(means, tuple) or len(means) < 2:
        raise UserError(
            f"{key} must be a list of at least two means, not {means!r}.",
            setting=key,
            code="too_few",
        )
    for mean in means:
        check_between(key, mean, -1e4, 1e4)


@dataclass(frozen=True)
class SyntheticData:
    """Data drawn from a mixture with given means.

    Attributes:
        means: the true means, one per component.
        n_points: number of points.
        seed: seed of the points.
    """

    means: tuple[float, ...]
    n_points: int
    seed: int

    def draw(self) -> np.ndarray:
        """Return the points, `[N]`."""
        return self._draw(np.random.default_rng(self.seed), self.n_points)

    def draw_held_out(self, count: int) -> np.ndarray:
        """Return new points, `[count]`, independent of those of `draw`."""
        return self._draw(np.random.default_rng([self.seed, 1]), count)

    def _draw(self, random: np.random.Generator, count: int) -> np.ndarray:
        labels = random.integers(0, len(self.means), count)
        return np.array(self.means, dtype=float)[labels] + random.normal(size=count)


@dataclass(frozen=True)
class Factors:
    """A mean-field distribution over the means and the assignments.

    Attributes:
        loc: expectations of the means, `[K]`.
        variance: variances of the means, `[K]`.
        responsibilities: probability of each component for each point, `[N, K]`.
    """

    loc: np.ndarray
    variance: np.ndarray
    responsibilities: np.ndarray


def elbo(points: np.ndarray, factors: Factors, prior_variance: float) -> float:
    """Return the evidence lower bound, `E_q[log p(mu, c, x)] - E_q[log q(mu, c)]`, in nats.

    The thesis prints the first expectations, and the one in (3.6.2), over `p`; its next lines
    correctly use expectations over `q`.

    Args:
        points: `[N]`.
        factors: the variational distribution.
        prior_variance: prior variance of the means.
    """
    loc, variance, weights = factors.loc, factors.variance, factors.responsibilities
    ratio = variance / prior_variance
    means = 0.5 * (np.log(ratio) + 1 - ratio - loc**2 / prior_variance).sum()
    expected = -0.5 * (LOG_TWO_PI + (points[:, None] - loc) ** 2 + variance) - np.log(len(loc))
    return float(means + (weights * expected).sum() + entr(weights).sum())


def log_predictive(points: np.ndarray, loc: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the log density of new points under equally weighted `N(loc_k, 1 + variance_k)`.

    Args:
        points: `[M]`.
        loc: `[..., K]`.
        variance: variances of the means, `[..., K]`; zero for known means.

    Returns:
        Log densities in nats, `[..., M]`.
    """
    total = 1 + variance[..., None, :]
    squares = (points[:, None] - loc[..., None, :]) ** 2 / total
    logs = -0.5 * (LOG_TWO_PI + np.log(total) + squares)
    log_density: np.ndarray = logsumexp(logs, axis=-1) - np.log(loc.shape[-1])
    return log_density
