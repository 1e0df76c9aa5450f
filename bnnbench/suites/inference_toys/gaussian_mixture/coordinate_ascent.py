"""Coordinate ascent variational inference for the mixture.

Density-ratio thesis, Algorithm 3: responsibilities, then the means' factors, until the ELBO
converges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from bnnbench.suites.inference_toys.gaussian_mixture.model import Factors, elbo


@dataclass(frozen=True)
class Ascent:
    """The path of one start; index 0 of every array is the start.

    Attributes:
        elbo: after each iteration, `[T + 1]`, nats.
        loc: means of the means, `[T + 1, K]`.
        variance: of the means, `[T + 1, K]`.
        converged: whether the ELBO stood still before the iterations ran out.
    """

    elbo: np.ndarray
    loc: np.ndarray
    variance: np.ndarray
    converged: bool

    @property
    def largest_fall(self) -> float:
        """The most by which an iteration lowered the ELBO, nats; 0 if none did."""
        return float(max(0.0, -np.diff(self.elbo).min()))


def random_start(components: int, prior_variance: float, random: np.random.Generator) -> np.ndarray:
    """Means `[K]` drawn from the prior."""
    return random.normal(scale=np.sqrt(prior_variance), size=components)


def responsibilities(points: np.ndarray, loc: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The best `q(c_i)` given the means' factors, `[..., N, K]` (thesis, below 3.6.2).

    Args:
        points: `[..., N]`.
        loc: `[..., K]`.
        variance: `[..., K]`.
    """
    logs = points[..., None] * loc[..., None, :] - 0.5 * (variance + loc**2)[..., None, :]
    found: np.ndarray = softmax(logs, axis=-1)
    return found


def means(
    points: np.ndarray, weights: np.ndarray, prior_variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """The best `q(mu_k)` given responsibilities: means and variances, `[K]` each.

    The thesis derives it by completing a square whose last line lost its leading minus sign; the
    density and the updates below it are right.

    Args:
        points: `[N]`.
        weights: responsibilities, `[N, K]`.
        prior_variance: of the means.
    """
    precision = 1 / prior_variance + weights.sum(0)
    return points @ weights / precision, 1 / precision


def ascend(
    points: np.ndarray,
    start: np.ndarray,
    prior_variance: float,
    iterations: int,
    tolerance: float,
) -> Ascent:
    """Coordinate ascent from one start.

    Args:
        points: `[N]`.
        start: means of the means, `[K]`; their variances start at 1, responsibilities at `1 / K`.
        prior_variance: of the means.
        iterations: at the most.
        tolerance: change of the ELBO, relative to its size, at which it stands still.
    """
    loc, variance = start, np.ones_like(start)
    weights = np.full((len(points), len(start)), 1 / len(start))
    bound = elbo(points, Factors(loc, variance, weights), prior_variance)
    path, converged = [(bound, loc, variance)], False
    while len(path) <= iterations and not converged:
        weights = responsibilities(points, loc, variance)
        loc, variance = means(points, weights, prior_variance)
        before, bound = bound, elbo(points, Factors(loc, variance, weights), prior_variance)
        path.append((bound, loc, variance))
        converged = abs(bound - before) <= tolerance * abs(bound)
    bounds, locs, variances = map(np.array, zip(*path, strict=True))
    return Ascent(bounds, locs, variances, bool(converged))
