"""Points that two Gaussians are fitted to: made ones, and petal lengths of irises."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.expectation_maximisation.model import Parameters


@dataclass(frozen=True)
class MadeData:
    """Points drawn from a mixture of two Gaussians.

    Attributes:
        weight: of the first component.
        loc: their means.
        scale: their standard deviations.
        points: how many.
        seed: of the draw.
    """

    weight: float
    loc: tuple[float, float]
    scale: tuple[float, float]
    points: int
    seed: int

    def draw(self) -> np.ndarray:
        """The points `[N]`."""
        random = np.random.default_rng(self.seed)
        first = random.random(self.points) < self.weight
        loc, scale = (np.where(first, *pair) for pair in (self.loc, self.scale))
        return loc + scale * random.normal(size=self.points)


def petal_lengths() -> np.ndarray:
    """Of 150 irises, cm (Fisher, 1936): two or three species' worth of bumps."""
    from sklearn.datasets import load_iris

    return np.array(load_iris().data[:, 2])


def start_on_one_point(points: np.ndarray) -> Parameters:
    """A start from which the first component shrinks onto the point farthest from all others.

    Its deviation is a quarter of the distance to the nearest of them; the second component is the
    one Gaussian with the data's mean and variance.
    """
    ordered = np.sort(points)
    gaps = np.diff(ordered, prepend=-np.inf, append=np.inf)
    nearest = np.minimum(gaps[:-1], gaps[1:])
    alone = int(nearest.argmax())
    loc = np.array([ordered[alone], points.mean()])
    variance = np.array([(nearest[alone] / 4) ** 2, points.var()])
    return Parameters(np.full(2, 0.5), loc, variance)
