"""The families of approximations: distributions over the noise precision and the weight.

`mean` and `std` are those of the noise precision, `weight_mean` and `weight_std` those of the
weight, which is Gaussian given the noise precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import digamma, gammaln

from bnnbench.suites.inference_toys.maths import LOG_TWO_PI, Array


@dataclass(frozen=True)
class Belief:
    """`Ga(noise precision; shape, rate) N(weight; weight_mean, variance)`, one or a stack of them.

    The prior (3.20), (3.21), every factorised approximation and every cavity have this form. Each
    field is a number, or an array `[R]`.
    """

    shape: Any
    rate: Any
    weight_mean: Any
    variance: Any

    @classmethod
    def from_natural(cls, natural: Array) -> Self:
        """Return the belief with natural parameters `[..., 4]`; it need not be proper.

        The sufficient statistics are `log gamma`, `-gamma`, `-w**2 / 2` and `w`.
        """
        power, rate, precision, weighted_mean = np.moveaxis(natural, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(power + 1, rate, weighted_mean / precision, 1 / precision)

    def natural(self) -> Array:
        """Return the natural parameters `[..., 4]`; their sums are products of beliefs."""
        values = (self.shape - 1, self.rate, 1 / self.variance, self.weight_mean / self.variance)
        return np.stack(np.broadcast_arrays(*map(np.asarray, values)), -1).astype(float)

    def at(self, index: int) -> Belief:
        """Return one belief of a stack."""
        return Belief(*(float(value[index]) for value in vars(self).values()))

    def repeat(self, count: int) -> Belief:
        """Return a stack of `count` copies of one belief."""
        return Belief(*(np.full(count, value) for value in vars(self).values()))

    @property
    def mean(self) -> Any:
        return self.shape / self.rate

    @property
    def std(self) -> Any:
        return np.sqrt(self.shape) / self.rate

    @property
    def weight_std(self) -> Any:
        return np.sqrt(self.variance)

    @property
    def mean_log(self) -> Any:
        """The mean of the logarithm of the noise precision."""
        return digamma(self.shape) - np.log(self.rate)

    def log_normaliser(self) -> Any:
        """Return the log normaliser of the exponential family."""
        gamma = gammaln(self.shape) - self.shape * np.log(self.rate)
        square = self.weight_mean**2 / self.variance
        return gamma + 0.5 * (LOG_TWO_PI + np.log(self.variance) + square)

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

    def weight_given(self, log_precision: Array) -> tuple[Array, Array]:
        """Return mean and variance of the weight given the noise precision, `[G]` each."""
        mean, variance = (np.full_like(log_precision, v) for v in (self.weight_mean, self.variance))
        return mean, variance


@dataclass(frozen=True)
class LogNormal:
    """`(log gamma, w) ~ N(loc, covariance)`, the family of ADVI; the precision is log-normal.

    Attributes:
        loc: `[2]`.
        covariance: `[2, 2]`, diagonal for a mean field.
    """

    loc: Array
    covariance: Array

    @property
    def mean(self) -> float:
        return float(np.exp(self.loc[0] + 0.5 * self.covariance[0, 0]))

    @property
    def std(self) -> float:
        return float(self.mean * np.sqrt(np.expm1(self.covariance[0, 0])))

    @property
    def weight_mean(self) -> float:
        return float(self.loc[1])

    @property
    def weight_std(self) -> float:
        return float(np.sqrt(self.covariance[1, 1]))

    def log_density_of_log(self, log_precision: Array) -> Array:
        variance = self.covariance[0, 0]
        difference = log_precision - self.loc[0]
        return -0.5 * (LOG_TWO_PI + np.log(variance) + difference**2 / variance)

    def weight_given(self, log_precision: Array) -> tuple[Array, Array]:
        (log_variance, covariance), (_, variance) = self.covariance
        mean = self.loc[1] + covariance / log_variance * (log_precision - self.loc[0])
        return mean, np.full_like(mean, variance - covariance**2 / log_variance)
