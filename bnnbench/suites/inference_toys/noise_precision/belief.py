"""A Gamma over the noise precision times a Gaussian over the weight, and its natural parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import digamma, gammaln

Array = np.ndarray[Any, np.dtype[Any]]

LOG_TWO_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Belief:
    """`Ga(noise precision; shape, rate) N(weight; loc, variance)`, one or a stack of them.

    The prior (3.20), (3.21), every approximation that keeps both apart, and a cavity are of this
    form. Each field is a number or an array; arrays have one shape, `[R]`.

    Attributes:
        shape: of the Gamma.
        rate: of the Gamma.
        loc: mean of the Gaussian.
        variance: of the Gaussian.
    """

    shape: Any
    rate: Any
    loc: Any
    variance: Any

    @classmethod
    def of_natural(cls, natural: Array) -> Self:
        """The belief with these natural parameters `[..., 4]`, proper or not.

        The statistics that they multiply are `log gamma`, `-gamma`, `-w**2 / 2` and `w`.
        """
        power, rate, precision, pull = np.moveaxis(natural, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(power + 1, rate, pull / precision, 1 / precision)

    def member(self, place: int) -> Belief:
        """One of a stack."""
        return Belief(*(float(part[place]) for part in vars(self).values()))

    def stacked(self, count: int) -> Belief:
        """So many copies of one."""
        return Belief(*(np.full(count, part) for part in vars(self).values()))

    def natural(self) -> Array:
        """Natural parameters `[..., 4]`; sums of them are products of beliefs."""
        parts = (self.shape - 1, self.rate, 1 / self.variance, self.loc / self.variance)
        return np.stack(np.broadcast_arrays(*map(np.asarray, parts)), -1).astype(float)

    def log_normaliser(self) -> Any:
        """Log of the integral of the exponential of natural parameters times statistics."""
        gamma = gammaln(self.shape) - self.shape * np.log(self.rate)
        gaussian = 0.5 * (LOG_TWO_PI + np.log(self.variance) + self.loc**2 / self.variance)
        return gamma + gaussian

    @property
    def mean(self) -> Any:
        """Of the noise precision."""
        return self.shape / self.rate

    @property
    def std(self) -> Any:
        """Of the noise precision."""
        return np.sqrt(self.shape) / self.rate

    @property
    def weight_mean(self) -> Any:
        """Of the weight."""
        return self.loc

    @property
    def weight_std(self) -> Any:
        """Of the weight."""
        return np.sqrt(self.variance)

    @property
    def mean_log(self) -> Any:
        """Mean of the logarithm of the noise precision."""
        return digamma(self.shape) - np.log(self.rate)

    def entropy(self) -> Any:
        """Of both variables together, in nats."""
        gamma = self.shape - np.log(self.rate) + gammaln(self.shape)
        gamma = gamma + (1 - self.shape) * digamma(self.shape)
        return gamma + 0.5 * (1 + LOG_TWO_PI + np.log(self.variance))

    def log_density_of_log(self, log_precision: Array) -> Any:
        """Log density of the logarithm of the noise precision, `[..., G]`.

        Args:
            log_precision: where, `[G]`.
        """
        shape, rate = (np.asarray(part)[..., None] for part in (self.shape, self.rate))
        scaled = shape * log_precision - rate * np.exp(log_precision)
        return scaled + shape * np.log(rate) - gammaln(shape)
