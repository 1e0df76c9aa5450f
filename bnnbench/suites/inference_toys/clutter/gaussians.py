"""Gaussians in natural parameters, which add when densities are multiplied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class NaturalGaussian:
    """Unnormalised Gaussians `exp(shift theta - precision theta ** 2 / 2)`, section 3.2.3.2.

    Attributes:
        precision: `[L]`, may be negative for a single factor of a product.
        shift: `[L]`, precision times mean.
    """

    precision: np.ndarray
    shift: np.ndarray

    @classmethod
    def from_moments(cls, mean: np.ndarray, variance: np.ndarray) -> Self:
        return cls(1 / variance, mean / variance)

    def multiply(self, other: NaturalGaussian, power: float = 1.0) -> NaturalGaussian:
        """Return the product with a power of another Gaussian; -1 divides by it."""
        precision = self.precision + power * other.precision
        return NaturalGaussian(precision, self.shift + power * other.shift)

    def where(self, condition: np.ndarray, otherwise: NaturalGaussian) -> NaturalGaussian:
        """Select elements as `np.where` does, `[L]`."""
        precision = np.where(condition, self.precision, otherwise.precision)
        return NaturalGaussian(precision, np.where(condition, self.shift, otherwise.shift))

    @property
    def is_proper(self) -> np.ndarray:
        """Whether each Gaussian can be normalised, `[L]`."""
        return np.isfinite(self.precision) & np.isfinite(self.shift) & (self.precision > 0)

    @property
    def mean(self) -> np.ndarray:
        return self.shift / self.precision

    @property
    def variance(self) -> np.ndarray:
        return 1 / self.precision

    @property
    def log_mass(self) -> np.ndarray:
        """Log of the integral, `[L]`."""
        return 0.5 * (np.log(2 * np.pi / self.precision) + self.shift**2 / self.precision)


def kl_to_prior(mean: float, variance: float, prior_variance: float) -> float:
    """Return `KL(N(mean, variance) || N(0, prior_variance))` in nats."""
    ratio = variance / prior_variance
    return float(0.5 * (ratio + mean**2 / prior_variance - 1 - np.log(ratio)))


def standard_normal_grid(n_nodes: int, half_width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights, `[n_nodes]` each, of the trapezium rule for a standard normal."""
    nodes = np.linspace(-half_width, half_width, n_nodes)
    weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()
