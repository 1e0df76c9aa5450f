"""Coordinate ascent variational inference for the mixture.

Density-ratio thesis, Algorithm 3: update the responsibilities, then the factors of the means, until
the ELBO converges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from bnnbench.suites.inference_toys.gaussian_mixture.model import Factors, elbo


@dataclass(frozen=True)
class Trajectory:
    """The iterates of one start; index 0 of every array is the initial state.

    Attributes:
        elbo: after each iteration, `[T + 1]`, nats.
        loc: expectations of the means, `[T + 1, K]`.
        variance: variances of the means, `[T + 1, K]`.
        converged: whether the ELBO converged within the maximum number of iterations.
    """

    elbo: np.ndarray
    loc: np.ndarray
    variance: np.ndarray
    converged: bool

    @property
    def largest_decrease(self) -> float:
        """The largest decrease of the ELBO in an iteration, nats; 0 if it never decreased."""
        return float(max(0.0, -np.diff(self.elbo).min()))


def random_start(components: int, prior_variance: float, random: np.random.Generator) -> np.ndarray:
    """Draw means `[K]` from the prior."""
    return random.normal(scale=np.sqrt(prior_variance), size=components)


def responsibilities(points: np.ndarray, loc: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the optimal `q(c_i)` given `q(mu)`, `[..., N, K]` (thesis, below 3.6.2).

    Args:
        points: `[..., N]`.
        loc: `[..., K]`.
        variance: `[..., K]`.
    """
    logs = points[..., None] * loc[..., None, :] - 0.5 * (variance + loc**2)[..., None, :]
    weights: np.ndarray = softmax(logs, axis=-1)
    return weights


def update_means(
    points: np.ndarray, weights: np.ndarray, prior_variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and variance of the optimal `q(mu_k)` given responsibilities, `[K]` each.

    The last line of the thesis's completed square lacks its leading minus sign; the density and
    the updates below it are correct.

    Args:
        points: `[N]`.
        weights: responsibilities, `[N, K]`.
        prior_variance: prior variance of the means.
    """
    precision = 1 / prior_variance + weights.sum(0)
    return points @ weights / precision, 1 / precision


def run_cavi(
    points: np.ndarray,
    start: np.ndarray,
    prior_variance: float,
    iterations: int,
    tolerance: float,
) -> Trajectory:
    """Run coordinate ascent from one start.

    Args:
        points: `[N]`.
        start: initial expectations of the means, `[K]`; variances start at 1, responsibilities at
            `1 / K`.
        prior_variance: prior variance of the means.
        iterations: maximum number of iterations.
        tolerance: relative change of the ELBO at convergence.
    """
    loc, variance = start, np.ones_like(start)
    weights = np.full((len(points), len(start)), 1 / len(start))
    bound = elbo(points, Factors(loc, variance, weights), prior_variance)
    states, converged = [(bound, loc, variance)], False
    while len(states) <= iterations and not converged:
        weights = responsibilities(points, loc, variance)
        loc, variance = update_means(points, weights, prior_variance)
        before, bound = bound, elbo(points, Factors(loc, variance, weights), prior_variance)
        states.append((bound, loc, variance))
        converged = abs(bound - before) <= tolerance * abs(bound)
    bounds, locs, variances = map(np.array, zip(*states, strict=True))
    return Trajectory(bounds, locs, variances, bool(converged))
