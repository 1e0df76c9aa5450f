"""A mixture of two univariate Gaussians, and the nodes for numerical integration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

GRID_HALF_WIDTH = 12.0
"""Half-width of the grid before it is stretched by the hyperbolic sine, to 81,000."""

N_NODES = 1601
"""Enough for components of standard deviation 0.25 up to 8 from zero, to the power of 5."""

_steps = np.linspace(-GRID_HALF_WIDTH, GRID_HALF_WIDTH, N_NODES)

NODES: Values = np.sinh(_steps)
"""`[X]`; the spacing is 0.015 at the centre and 1.5 % of the distance from it far out."""

LOG_WEIGHTS: Values = np.log(np.cosh(_steps) * (_steps[1] - _steps[0]))
"""Log weights of the trapezoidal rule, accurate to rounding for smooth decaying functions."""

MAX_TAIL_SCALE = 1e4
"""Largest standard deviation of a tail that the grid can distinguish from a constant."""


@dataclass(frozen=True)
class Component:
    """One Gaussian of a mixture.

    Attributes:
        weight: its probability.
        loc: its mean.
        scale: its standard deviation.
    """

    weight: float
    loc: float
    scale: float


@dataclass(frozen=True)
class Mixture:
    """`weight Normal(-separation, 1) + (1 - weight) Normal(separation, scale^2)`.

    Attributes:
        separation: distance of each component's mean from zero.
        weight: weight of the left component.
        scale: standard deviation of the right component.
    """

    separation: float
    weight: float = 0.5
    scale: float = 1.0

    @property
    def name(self) -> str:
        """The formula: `0.5 N(-2, 1) + 0.5 N(2, 0.5²)`."""
        left, right = self.components
        variance = "1" if right.scale == 1 else f"{right.scale:g}²"
        left_name = f"{left.weight:g} N({left.loc + 0.0:g}, 1)"
        return f"{left_name} + {right.weight:g} N({right.loc:g}, {variance})"

    @property
    def components(self) -> tuple[Component, Component]:
        """The left and the right component."""
        left = Component(self.weight, -self.separation, 1.0)
        return left, Component(1 - self.weight, self.separation, self.scale)

    @property
    def mean(self) -> float:
        return sum(c.weight * c.loc for c in self.components)

    @property
    def standard_deviation(self) -> float:
        second = sum(c.weight * (c.loc**2 + c.scale**2) for c in self.components)
        return math.sqrt(second - self.mean**2)

    @property
    def max_scale(self) -> float:
        """The largest standard deviation of a component, which determines the tails."""
        return max(c.scale for c in self.components)

    def log_density(self, points: Values) -> Values:
        """Return the log density at points of any shape."""
        left, right = (
            math.log(c.weight) + log_normal(points, c.loc, c.scale) for c in self.components
        )
        return np.logaddexp(left, right)


def log_normal(points: Values, loc: float, scale: float) -> Values:
    """Return the log density of `Normal(loc, scale^2)` at points of any shape."""
    return -0.5 * ((points - loc) / scale) ** 2 - math.log(scale) - 0.5 * math.log(2 * math.pi)


@lru_cache(maxsize=4)
def log_density_at_nodes(p: Mixture) -> Values:
    """Return the log density at `NODES`, `[X]`; cached because each fit needs it many times."""
    return p.log_density(NODES)
