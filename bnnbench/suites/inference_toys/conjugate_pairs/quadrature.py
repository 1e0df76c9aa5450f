"""The same posteriors without conjugacy, by quadrature on a fine grid and by optimisation.

The trapezium rule is accurate to rounding for smooth functions that vanish at both ends, such as
densities over the reals, or over the logarithm of a positive parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from bnnbench.suites.inference_toys.conjugate_pairs.model import Estimates, Pair

LogDensity = Callable[[np.ndarray], np.ndarray]

LOG_DENSITY_CUTOFF = 60.0
"""Nats below the maximum at which a density is truncated."""

N_NODES = 8001

ZERO_ONE_HALF_WIDTH = 0.01
"""Half-width of the interval of zero loss, in posterior standard deviations."""


@dataclass(frozen=True)
class GridDistribution:
    """A distribution on a grid.

    Attributes:
        values: `[K]`, increasing.
        weights: `[K]`, with sum 1.
        log_mass: log of the normalising integral, nats.
    """

    values: np.ndarray
    weights: np.ndarray
    log_mass: float

    @property
    def mean(self) -> float:
        return float(self.weights @ self.values)

    @property
    def scale(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(self.weights @ (self.values - self.mean) ** 2))

    def cdf(self, value: float) -> float:
        """Interpolate the distribution function linearly between midpoints of nodes."""
        midpoints = 0.5 * (self.values[1:] + self.values[:-1])
        return float(np.interp(value, midpoints, self.weights.cumsum()[:-1]))

    @property
    def median(self) -> float:
        midpoints = 0.5 * (self.values[1:] + self.values[:-1])
        return float(np.interp(0.5, self.weights.cumsum()[:-1], midpoints))


def discretise(
    log_density: LogDensity, limits: tuple[float, float], is_positive: bool
) -> GridDistribution:
    """Discretise a density on a grid that covers its mass.

    Args:
        log_density: the unnormalised log density.
        limits: interval that holds all its mass.
        is_positive: whether the grid is even over the logarithm of the parameter.
    """
    low, high = np.log(limits) if is_positive else limits
    for _ in range(3):
        grid = np.linspace(low, high, N_NODES)
        values = np.exp(grid) if is_positive else grid
        heights = log_density(values) + (grid if is_positive else 0.0)
        covered = np.flatnonzero(heights > heights.max() - LOG_DENSITY_CUTOFF)
        low, high = grid[max(covered[0] - 1, 0)], grid[min(covered[-1] + 1, N_NODES - 1)]
    log_max = heights.max()
    weights = np.exp(heights - log_max)
    mass = weights.sum() * (grid[1] - grid[0])
    return GridDistribution(values, weights / weights.sum(), float(log_max + np.log(mass)))


def maximise(log_density: LogDensity, limits: tuple[float, float], is_positive: bool) -> float:
    """Return the mode of a density, by grid search and Brent's method on the log density."""
    low, high = np.log(limits) if is_positive else limits
    for _ in range(3):
        grid = np.linspace(low, high, N_NODES)
        best = int(log_density(np.exp(grid) if is_positive else grid).argmax())
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, N_NODES - 1)]

    def loss(point: float) -> float:
        return -float(log_density(np.array(np.exp(point) if is_positive else point)))

    optimum = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return float(np.exp(optimum.x) if is_positive else optimum.x)


def log_joint(pair: Pair) -> LogDensity:
    """Return `log p(x, parameter)` as a function of the parameter."""
    return lambda value: pair.log_prior(value) + pair.log_likelihood(value)


def estimates(pair: Pair) -> Estimates:
    """Return the estimates of a pair by quadrature and optimisation."""
    posterior = discretise(log_joint(pair), pair.integration_limits, pair.is_positive)
    return Estimates(
        mle=maximise(pair.log_likelihood, pair.integration_limits, pair.is_positive),
        mode=maximise(log_joint(pair), pair.integration_limits, pair.is_positive),
        mean=posterior.mean,
        median=posterior.median,
        scale=posterior.scale,
        log_evidence=posterior.log_mass,
    )


def risk(posterior: GridDistribution, loss: str, estimate: float) -> float:
    """Return the expected loss of an estimate, (2.46).

    Args:
        posterior: posterior of the parameter.
        loss: `quadratic`, `absolute`, or `zero_one`, which is 0 within `ZERO_ONE_HALF_WIDTH`
            posterior standard deviations and 1 beyond.
        estimate: delta.
    """
    if loss == "zero_one":
        half_width = ZERO_ONE_HALF_WIDTH * posterior.scale
        return 1 - posterior.cdf(estimate + half_width) + posterior.cdf(estimate - half_width)
    errors = estimate - posterior.values
    return float(posterior.weights @ (errors**2 if loss == "quadratic" else np.abs(errors)))


def minimise_risk(posterior: GridDistribution, loss: str) -> float:
    """Return the estimate of minimum expected loss, by grid search and Brent's method."""
    half_width = 3 * posterior.scale
    low, high = max(posterior.mean - half_width, posterior.values[0]), posterior.mean + half_width
    grid = np.linspace(low, high, 301)
    best = int(np.argmin([risk(posterior, loss, value) for value in grid]))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, 300)])
    optimum = minimize_scalar(lambda value: risk(posterior, loss, value), bounds=bounds,
                              method="bounded", options={"xatol": 1e-9 * half_width})  # fmt: skip
    return float(optimum.x)
