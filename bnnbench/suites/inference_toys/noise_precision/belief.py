"""A Gamma distribution over the noise precision times a Gaussian over the weight."""

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

    The prior (3.20), (3.21), every factorised approximation and every cavity have this form. Each
    field is a number, or an array `[R]`.

    Attributes:
        shape: shape of the Gamma.
        rate: rate of the Gamma.
        loc: mean of the Gaussian.
        variance: variance of the Gaussian.
    """

    shape: Any
    rate: Any
    loc: Any
    variance: Any

    @classmethod
    def from_natural(cls, natural: Array) -> Self:
        """Return the belief with natural parameters `[..., 4]`; it need not be proper.

        The sufficient statistics are `log gamma`, `-gamma`, `-w**2 / 2` and `w`.
        """
        power, rate, precision, weighted_mean = np.moveaxis(natural, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(power + 1, rate, weighted_mean / precision, 1 / precision)

    def at(self, index: int) -> Belief:
        """Return one belief of a stack."""
        return Belief(*(float(value[index]) for value in vars(self).values()))

    def repeat(self, count: int) -> Belief:
        """Return a stack of `count` copies of one belief."""
        return Belief(*(np.full(count, value) for value in vars(self).values()))

    def natural(self) -> Array:
        """Return the natural parameters `[..., 4]`; their sums are products of beliefs."""
        values = (self.shape - 1, self.rate, 1 / self.variance, self.loc / self.variance)
        return np.stack(np.broadcast_arrays(*map(np.asarray, values)), -1).astype(float)

    def log_normaliser(self) -> Any:
        """Return the log normaliser of the exponential family."""
        gamma = gammaln(self.shape) - self.shape * np.log(self.rate)
        gaussian = 0.5 * (LOG_TWO_PI + np.log(self.variance) + self.loc**2 / self.variance)
        return gamma + gaussian

    @property
    def mean(self) -> Any:
        """The mean of the noise precision."""
        return self.shape / self.rate

    @property
    def std(self) -> Any:
        """The standard deviation of the noise precision."""
        return np.sqrt(self.shape) / self.rate

    @property
    def weight_mean(self) -> Any:
        """The mean of the weight."""
        return self.loc

    @property
    def weight_std(self) -> Any:
        """The standard deviation of the weight."""
        return np.sqrt(self.variance)

    @property
    def mean_log(self) -> Any:
        """The mean of the logarithm of the noise precision."""
        return digamma(self.shape) - np.log(self.rate)

    def entropy(self) -> Any:
        """Return the joint entropy in nats."""
        gamma = self.shape - np.log(self.rate) + gammaln(self.shape)
        gamma = gamma + (1 - self.shape) * digamma(self.shape)
        return gamma + 0.5 * (1 + LOG_TWO_PI + np.log(self.variance))

    def log_density_of_log(self, log_precision: Array) -> Any:
        """Return the log density of `log(noise precision)` at points `[G]`, `[..., G]`."""
        shape, rate = (np.asarray(value)[..., None] for value in (self.shape, self.rate))
        scaled = shape * log_precision - rate * np.exp(log_precision)
        return scaled + shape * np.log(rate) - gammaln(shape)
