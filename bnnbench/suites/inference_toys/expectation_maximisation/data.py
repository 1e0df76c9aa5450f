"""Data for two Gaussians: synthetic points and petal lengths of irises."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.expectation_maximisation.model import Parameters


@dataclass(frozen=True)
class SyntheticData:
    """Points drawn from a mixture of two Gaussians.

    Attributes:
        weight: weight of the first component.
        loc: means of the components.
        scale: standard deviations of the components.
        points: number of points.
        seed: seed of the draw.
    """

    weight: float
    loc: tuple[float, float]
    scale: tuple[float, float]
    points: int
    seed: int

    def draw(self) -> np.ndarray:
        """Draw the points, `[N]`."""
        random = np.random.default_rng(self.seed)
        first = random.random(self.points) < self.weight
        loc, scale = (np.where(first, *pair) for pair in (self.loc, self.scale))
        return loc + scale * random.normal(size=self.points)


def petal_lengths() -> np.ndarray:
    """Return the petal lengths of 150 irises in cm, a multimodal sample (Fisher, 1936)."""
    from sklearn.datasets import load_iris

    return np.array(load_iris().data[:, 2])


def collapsing_start(points: np.ndarray) -> Parameters:
    """Return a start from which the first component collapses onto the most isolated point.

    Its standard deviation is a quarter of the distance to the nearest other point. The second
    component has the mean and variance of the data.
    """
    ordered = np.sort(points)
    gaps = np.diff(ordered, prepend=-np.inf, append=np.inf)
    nearest = np.minimum(gaps[:-1], gaps[1:])
    isolated = int(nearest.argmax())
    loc = np.array([ordered[isolated], points.mean()])
    variance = np.array([(nearest[isolated] / 4) ** 2, points.var()])
    return Parameters(np.full(2, 0.5), loc, variance)
