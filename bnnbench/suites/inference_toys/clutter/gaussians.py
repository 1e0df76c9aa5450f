"""Gaussians by natural parameters, which are added and subtracted as factors come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class Natural:
    """Unnormalised Gaussians `exp(shift theta - precision theta ** 2 / 2)`, section 3.2.3.2.

    Attributes:
        precision: `[L]`, may be negative where it is one factor of several.
        shift: `[L]`, precision times mean.
    """

    precision: np.ndarray
    shift: np.ndarray

    @classmethod
    def of(cls, mean: np.ndarray, variance: np.ndarray) -> Self:
        """With these moments, `[L]` each."""
        return cls(1 / variance, mean / variance)

    def plus(self, other: Natural, times: float = 1.0) -> Natural:
        """The product with some power of another."""
        precision = self.precision + times * other.precision
        return Natural(precision, self.shift + times * other.shift)

    def where(self, chosen: np.ndarray, otherwise: Natural) -> Natural:
        """These where `chosen`, `[L]`, and the others elsewhere."""
        precision = np.where(chosen, self.precision, otherwise.precision)
        return Natural(precision, np.where(chosen, self.shift, otherwise.shift))

    @property
    def valid(self) -> np.ndarray:
        """Whether each can be normalised, `[L]`."""
        return np.isfinite(self.precision) & np.isfinite(self.shift) & (self.precision > 0)

    @property
    def mean(self) -> np.ndarray:
        """Of the normalised ones, `[L]`."""
        return self.shift / self.precision

    @property
    def variance(self) -> np.ndarray:
        """Of the normalised ones, `[L]`."""
        return 1 / self.precision

    @property
    def log_mass(self) -> np.ndarray:
        """The log of the integral, `[L]`."""
        return 0.5 * (np.log(2 * np.pi / self.precision) + self.shift**2 / self.precision)


def divergence(mean: float, variance: float, prior_variance: float) -> float:
    """`KL(N(mean, variance) || N(0, prior_variance))`, nats."""
    ratio = variance / prior_variance
    return float(0.5 * (ratio + mean**2 / prior_variance - 1 - np.log(ratio)))


def standard_grid(nodes: int, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights, `[nodes]` each, of the trapezium rule for a standard normal."""
    node = np.linspace(-reach, reach, nodes)
    weight = np.exp(-0.5 * node**2)
    return node, weight / weight.sum()
