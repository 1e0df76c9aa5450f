"""The same posteriors without conjugacy: sums over a fine grid, and optimisers.

The trapezium rule is exact to rounding where a smooth function falls to nothing at both ends, as a
density does over the reals, and one of a positive parameter over its logarithm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from bnnbench.suites.inference_toys.conjugate_pairs.model import Estimates, Pair

LogDensity = Callable[[np.ndarray], np.ndarray]

DEPTH = 60.0
"""Nats below its highest point at which a density is cut off."""

NODES = 8001

WIDTH = 0.01
"""Half the width of the 0-1 loss's gap, in posterior deviations."""


@dataclass(frozen=True)
class Weighted:
    """A distribution as values with weights.

    Attributes:
        value: `[K]`, rising.
        weight: `[K]`, sum 1.
        log_mass: the log of the integral that was normalised, nats.
    """

    value: np.ndarray
    weight: np.ndarray
    log_mass: float

    @property
    def mean(self) -> float:
        return float(self.weight @ self.value)

    @property
    def scale(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(self.weight @ (self.value - self.mean) ** 2))

    def share_below(self, value: float) -> float:
        """The mass below a value, linear between the middles of nodes."""
        middles = 0.5 * (self.value[1:] + self.value[:-1])
        return float(np.interp(value, middles, self.weight.cumsum()[:-1]))

    @property
    def median(self) -> float:
        middles = 0.5 * (self.value[1:] + self.value[:-1])
        return float(np.interp(0.5, self.weight.cumsum()[:-1], middles))


def weighted(log_density: LogDensity, reach: tuple[float, float], positive: bool) -> Weighted:
    """A density as weights on a grid that was laid where it has mass.

    Args:
        log_density: unnormalised.
        reach: between which values it has all its mass.
        positive: whether the grid is laid over the logarithm.
    """
    low, high = np.log(reach) if positive else reach
    for _ in range(3):
        place = np.linspace(low, high, NODES)
        value = np.exp(place) if positive else place
        heights = log_density(value) + (place if positive else 0.0)
        kept = np.flatnonzero(heights > heights.max() - DEPTH)
        low, high = place[max(kept[0] - 1, 0)], place[min(kept[-1] + 1, NODES - 1)]
    top = heights.max()
    weight = np.exp(heights - top)
    mass = weight.sum() * (place[1] - place[0])
    return Weighted(value, weight / weight.sum(), float(top + np.log(mass)))


def highest(log_density: LogDensity, reach: tuple[float, float], positive: bool) -> float:
    """Where a density is greatest, by a scan and Brent's method on its logarithm."""
    low, high = np.log(reach) if positive else reach
    for _ in range(3):
        place = np.linspace(low, high, NODES)
        top = int(log_density(np.exp(place) if positive else place).argmax())
        low, high = place[max(top - 1, 0)], place[min(top + 1, NODES - 1)]

    def loss(place: float) -> float:
        return -float(log_density(np.array(np.exp(place) if positive else place)))

    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return float(np.exp(found.x) if positive else found.x)


def log_joint(pair: Pair) -> LogDensity:
    """`log p(x, parameter)` of a pair."""
    return lambda value: pair.log_prior(value) + pair.log_likelihood(value)


def estimates(pair: Pair) -> Estimates:
    """What `Pair.estimates` says, by quadrature and search."""
    posterior = weighted(log_joint(pair), pair.reach, pair.positive)
    return Estimates(
        mle=highest(pair.log_likelihood, pair.reach, pair.positive),
        mode=highest(log_joint(pair), pair.reach, pair.positive),
        mean=posterior.mean,
        median=posterior.median,
        scale=posterior.scale,
        log_evidence=posterior.log_mass,
    )


def risk(posterior: Weighted, loss: str, estimate: float) -> float:
    """The expected loss of an estimate, (2.46).

    Args:
        posterior: of the parameter.
        loss: `quadratic`, `absolute`, or `zero_one`, which is 1 beyond `WIDTH` deviations.
        estimate: delta.
    """
    if loss == "zero_one":
        gap = WIDTH * posterior.scale
        return 1 - posterior.share_below(estimate + gap) + posterior.share_below(estimate - gap)
    off = estimate - posterior.value
    return float(posterior.weight @ (off**2 if loss == "quadratic" else np.abs(off)))


def best_estimate(posterior: Weighted, loss: str) -> float:
    """Where the expected loss is least, by Brent's method around the best of many."""
    spread = 3 * posterior.scale
    low, high = max(posterior.mean - spread, posterior.value[0]), posterior.mean + spread
    tried = np.linspace(low, high, 301)
    best = int(np.argmin([risk(posterior, loss, value) for value in tried]))
    ends = (tried[max(best - 1, 0)], tried[min(best + 1, 300)])
    found = minimize_scalar(lambda value: risk(posterior, loss, value), bounds=ends,
                            method="bounded", options={"xatol": 1e-9 * spread})  # fmt: skip
    return float(found.x)
