"""The mixture: its data, its variational factors, its evidence lower bound and its predictions.

Means `mu_k ~ N(0, prior variance)`, `k = 1..K`; each point is of one component, all equally likely,
and `x_i ~ N(mu_{c_i}, 1)` (density-ratio thesis, section 3.6, after Blei, Kucukelbir and McAuliffe,
2017). The factors are `q(mu_k) = N(loc_k, variance_k)`, the thesis's `m_k` and `s_k^2`, and
`q(c_i = k) = responsibilities_ik`, its `phi_ik`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, logsumexp

from bnnbench.checks import check_between
from bnnbench.types import UserError

LOG_TWO_PI = float(np.log(2 * np.pi))


def check_means(key: str, means: tuple[float, ...]) -> None:
    """Raises `UserError` unless they are those of a mixture; `key` is where they stand."""
    if not isinstance(means, tuple) or len(means) < 2:
        raise UserError(f"{key} must be a list of at least two means, not {means!r}.")
    for mean in means:
        check_between(key, mean, -1e4, 1e4)


@dataclass(frozen=True)
class MadeData:
    """Points drawn from a mixture whose means are given.

    Attributes:
        loc: the means that make the points, one per component.
        points: how many.
        seed: of the draw.
    """

    loc: tuple[float, ...]
    points: int
    seed: int

    def draw(self) -> np.ndarray:
        """The points `[N]`."""
        return self._draw(np.random.default_rng(self.seed), self.points)

    def draw_held_out(self, count: int) -> np.ndarray:
        """Further points `[count]`, independent of those of `draw`."""
        return self._draw(np.random.default_rng([self.seed, 1]), count)

    def _draw(self, random: np.random.Generator, count: int) -> np.ndarray:
        labels = random.integers(0, len(self.loc), count)
        return np.array(self.loc, dtype=float)[labels] + random.normal(size=count)


@dataclass(frozen=True)
class Factors:
    """A mean-field distribution over the means and the assignments.

    Attributes:
        loc: means of the means, `[K]`.
        variance: of the means, `[K]`.
        responsibilities: probability of each component for each point, `[N, K]`.
    """

    loc: np.ndarray
    variance: np.ndarray
    responsibilities: np.ndarray


def elbo(points: np.ndarray, factors: Factors, prior_variance: float) -> float:
    """The evidence lower bound, nats.

    `E_q[log p(mu, c, x)] - E_q[log q(mu, c)]`. The thesis prints its first expectations, and that
    in (3.6.2), over `p`; they are over `q`, as its next lines use them.

    Args:
        points: `[N]`.
        factors: of the means and assignments.
        prior_variance: of the means.
    """
    loc, variance, weights = factors.loc, factors.variance, factors.responsibilities
    ratio = variance / prior_variance
    means = 0.5 * (np.log(ratio) + 1 - ratio - loc**2 / prior_variance).sum()
    expected = -0.5 * (LOG_TWO_PI + (points[:, None] - loc) ** 2 + variance) - np.log(len(loc))
    return float(means + (weights * expected).sum() + entr(weights).sum())


def log_predictive(points: np.ndarray, loc: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Log density of new points, nats: components of equal weight, `N(loc_k, 1 + variance_k)`.

    Args:
        points: `[M]`.
        loc: `[..., K]`.
        variance: of the means, `[..., K]`; zero for means that are known.

    Returns:
        `[..., M]`.
    """
    spread = 1 + variance[..., None, :]
    squares = (points[:, None] - loc[..., None, :]) ** 2 / spread
    logs = -0.5 * (LOG_TWO_PI + np.log(spread) + squares)
    found: np.ndarray = logsumexp(logs, axis=-1) - np.log(loc.shape[-1])
    return found
