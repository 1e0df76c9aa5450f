"""Integration and maximisation of a density on a fine grid, without conjugacy.

The trapezium rule is accurate to rounding for smooth functions that vanish at both ends, such as
densities over the reals, or over the logarithm of a positive parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

LogDensity = Callable[[np.ndarray], np.ndarray]

LOG_DENSITY_CUTOFF = 60.0
"""Nats below the maximum at which a density is truncated."""

N_NODES = 8001

ZERO_ONE_HALF_WIDTH = 0.01
"""Half-width of the interval of zero loss, in posterior standard deviations."""


class Axis(NamedTuple):
    """An interval that holds all mass of a density.

    If the parameter is positive, the ends are logarithms and grids are even over the logarithm.
    """

    low: float
    high: float
    is_positive: bool

    def values(self, grid: np.ndarray | float) -> np.ndarray:
        """Return the parameter at points of a grid, in the shape of `grid`."""
        return np.asarray(np.exp(grid) if self.is_positive else grid)


@dataclass(frozen=True)
class GridDistribution:
    """Increasing values and their probabilities, `[K]` each, and the log normaliser in nats."""

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

    @property
    def midpoints(self) -> np.ndarray:
        """Midpoints of neighbouring nodes, `[K - 1]`."""
        return 0.5 * (self.values[1:] + self.values[:-1])

    @property
    def cumulative(self) -> np.ndarray:
        """The distribution function at the midpoints, `[K - 1]`."""
        return self.weights.cumsum()[:-1]

    @property
    def median(self) -> float:
        return float(np.interp(0.5, self.cumulative, self.midpoints))


def discretise(log_density: LogDensity, axis: Axis) -> GridDistribution:
    """Discretise an unnormalised density on a grid that covers its mass."""
    low, high, _ = axis
    for _ in range(3):
        grid = np.linspace(low, high, N_NODES)
        values = axis.values(grid)
        heights = log_density(values) + (grid if axis.is_positive else 0.0)
        covered = np.flatnonzero(heights > heights.max() - LOG_DENSITY_CUTOFF)
        low, high = grid[max(covered[0] - 1, 0)], grid[min(covered[-1] + 1, N_NODES - 1)]
    log_max = heights.max()
    weights = np.exp(heights - log_max)
    mass = weights.sum() * (grid[1] - grid[0])
    return GridDistribution(values, weights / weights.sum(), float(log_max + np.log(mass)))


def maximise(log_density: LogDensity, axis: Axis) -> float:
    """Return the mode of a density, by grid search and Brent's method on the log density."""
    low, high, _ = axis
    for _ in range(3):
        grid = np.linspace(low, high, N_NODES)
        best = int(log_density(axis.values(grid)).argmax())
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, N_NODES - 1)]

    def loss(point: float) -> float:
        return -float(log_density(axis.values(point)))

    optimum = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return float(axis.values(optimum.x))


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
        ends = (estimate + half_width, estimate - half_width)
        above, below = np.interp(ends, posterior.midpoints, posterior.cumulative)
        return float(1 - above + below)
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
