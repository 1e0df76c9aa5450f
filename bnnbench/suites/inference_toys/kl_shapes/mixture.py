"""A mixture of two Gaussians on a line, and the nodes on which everything about it is summed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

REACH = 12.0
"""Of the nodes before they are stretched by the hyperbolic sine, to 81,000 on either side."""

COUNT = 1601
"""Enough for parts up to 8 away that are no narrower than 0.25, to the power of 5."""

_steps = np.linspace(-REACH, REACH, COUNT)

NODES: Values = np.sinh(_steps)
"""`[X]`: 0.015 apart at the centre, and far out as much of their distance from it."""

LOG_WEIGHTS: Values = np.log(np.cosh(_steps) * (_steps[1] - _steps[0]))
"""Of the trapezium rule, which errs by less than rounding on smooth functions that die out."""

WIDEST = 1e4
"""The standard deviation of a tail beyond which it is not told from one that never ends."""


@dataclass(frozen=True)
class Part:
    """One Gaussian of a mixture.

    Attributes:
        share: of the whole.
        loc: its mean.
        scale: its standard deviation.
    """

    share: float
    loc: float
    scale: float


@dataclass(frozen=True)
class Mixture:
    """`share Normal(-separation, 1) + (1 - share) Normal(separation, scale^2)`.

    Attributes:
        separation: of each part from zero.
        share: of the left part.
        scale: standard deviation of the right part.
    """

    separation: float
    share: float = 0.5
    scale: float = 1.0

    @property
    def name(self) -> str:
        """As it is written: `0.5 N(-2, 1) + 0.5 N(2, 0.5²)`."""
        left, right = self.parts
        wide = "1" if right.scale == 1 else f"{right.scale:g}²"
        return f"{left.share:g} N({left.loc + 0.0:g}, 1) + {right.share:g} N({right.loc:g}, {wide})"

    @property
    def parts(self) -> tuple[Part, Part]:
        """Left and right."""
        left = Part(self.share, -self.separation, 1.0)
        return left, Part(1 - self.share, self.separation, self.scale)

    @property
    def mean(self) -> float:
        return sum(part.share * part.loc for part in self.parts)

    @property
    def standard_deviation(self) -> float:
        second = sum(part.share * (part.loc**2 + part.scale**2) for part in self.parts)
        return math.sqrt(second - self.mean**2)

    @property
    def widest(self) -> float:
        """The standard deviation of the part that rules the tails."""
        return max(part.scale for part in self.parts)

    def log_density(self, points: Values) -> Values:
        """At points of any shape."""
        left, right = (
            math.log(part.share) + log_normal(points, part.loc, part.scale) for part in self.parts
        )
        return np.logaddexp(left, right)


def log_normal(points: Values, loc: float, scale: float) -> Values:
    """The log density of `Normal(loc, scale^2)` at points of any shape."""
    return -0.5 * ((points - loc) / scale) ** 2 - math.log(scale) - 0.5 * math.log(2 * math.pi)


@lru_cache(maxsize=4)
def log_density_at_nodes(p: Mixture) -> Values:
    """`[X]`; a fit asks for it a hundred times."""
    return p.log_density(NODES)
