"""Two likelihoods with their conjugate priors, and the posteriors in closed form.

Cinelli et al., section 2.5.2: a normal with known variance and a normal prior on its mean, and a
normal with known mean and a Gamma prior on its precision. Where the print is wrong, the mathematics
is followed: (2.38) gives one over the posterior *variance*, not deviation, and (2.39) lacks two
variances; `printed_mean_posterior` has them as they stand. Elsewhere in the chapter (2.2) has the
density of the uniform as 1 / (a - b), the sum of (2.43) starts at 0, and that of (2.63) at 1
instead of 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import gammainccinv, gammaln


@dataclass(frozen=True)
class Estimates:
    """What one posterior, and the likelihood, say of a parameter.

    Attributes:
        mle: where the likelihood is greatest.
        mode: where the posterior is, the MAP estimate.
        mean: of the posterior.
        median: of the posterior.
        scale: standard deviation of the posterior.
        log_evidence: nats.
    """

    mle: float
    mode: float
    mean: float
    median: float
    scale: float
    log_evidence: float


class Pair(Protocol):
    """A likelihood and its conjugate prior, with the data in place."""

    @property
    def positive(self) -> bool:
        """Whether the parameter is."""

    @property
    def reach(self) -> tuple[float, float]:
        """Between which values likelihood and posterior have all their mass."""

    def log_prior(self, value: np.ndarray) -> np.ndarray:
        """In the shape of `value`."""

    def log_likelihood(self, value: np.ndarray) -> np.ndarray:
        """In the shape of `value`."""

    def estimates(self) -> Estimates:
        """In closed form."""


@dataclass(frozen=True)
class MeanPair:
    """A normal mean with a normal prior, (2.33)-(2.39).

    Attributes:
        observations: `[N]`.
        scale: known standard deviation of an observation.
        prior_mean: of the mean.
        prior_scale: its standard deviation.
        printed: whether (2.38) and (2.39) are taken as they stand.
    """

    observations: np.ndarray
    scale: float
    prior_mean: float
    prior_scale: float
    printed: bool = False
    positive: ClassVar[bool] = False

    @property
    def reach(self) -> tuple[float, float]:
        ends = np.array([self.prior_mean, self.observations.min(), self.observations.max()])
        width = 12 * max(self.scale, self.prior_scale)
        return float(ends.min() - width), float(ends.max() + width)

    def log_prior(self, value: np.ndarray) -> np.ndarray:
        return _log_normal(value, self.prior_mean, self.prior_scale)

    def log_likelihood(self, value: np.ndarray) -> np.ndarray:
        return _log_normal(self.observations, np.asarray(value)[..., None], self.scale).sum(-1)

    def estimates(self) -> Estimates:
        average = float(self.observations.mean())
        middle, scale = (self._printed if self.printed else self._posterior)(average)
        return Estimates(average, middle, middle, middle, scale, self._log_evidence())

    def _posterior(self, average: float) -> tuple[float, float]:
        """Mean and deviation, with what (2.38) and (2.39) lack."""
        count, noise, prior = len(self.observations), self.scale**2, self.prior_scale**2
        variance = 1 / (1 / prior + count / noise)
        middle = (noise * self.prior_mean + count * prior * average) / (noise + count * prior)
        return middle, float(np.sqrt(variance))

    def _printed(self, average: float) -> tuple[float, float]:
        """Mean and deviation as (2.39) and (2.38) have them."""
        count, noise, prior = len(self.observations), self.scale**2, self.prior_scale**2
        middle = (self.prior_mean + count * average) / (noise + count * prior)
        return middle, 1 / (1 / prior + count / noise)

    def _log_evidence(self) -> float:
        """Of the observations together, whose covariance is `scale^2 I + prior_scale^2`."""
        off = self.observations - self.prior_mean
        count, noise, prior = len(off), self.scale**2, self.prior_scale**2
        shared = noise + count * prior
        square = (off**2).sum() / noise - prior * off.sum() ** 2 / (noise * shared)
        log_determinant = (count - 1) * np.log(noise) + np.log(shared)
        return float(-0.5 * (count * np.log(2 * np.pi) + log_determinant + square))


@dataclass(frozen=True)
class PrecisionPair:
    """A normal's precision, its mean known, with a Gamma prior, (2.40)-(2.42).

    Attributes:
        observations: `[N]`.
        mean: known.
        prior_shape: of the Gamma distribution, alpha.
        prior_rate: of it, beta.
    """

    observations: np.ndarray
    mean: float
    prior_shape: float
    prior_rate: float
    positive: ClassVar[bool] = True

    @property
    def reach(self) -> tuple[float, float]:
        shape, rate = self.posterior()
        # As far as the likelihood alone reaches, which may be much further than the posterior.
        return 1e-90, (10 * shape + 500) / min(rate, self.square / 2)

    @property
    def square(self) -> float:
        """The sum of squares about the mean."""
        return float(((self.observations - self.mean) ** 2).sum())

    def posterior(self) -> tuple[float, float]:
        """Shape and rate of the Gamma posterior, (2.42)."""
        return (
            self.prior_shape + len(self.observations) / 2,
            self.prior_rate + self.square / 2,
        )

    def log_prior(self, value: np.ndarray) -> np.ndarray:
        shape, rate = self.prior_shape, self.prior_rate
        normaliser = shape * np.log(rate) - gammaln(shape)
        return normaliser + (shape - 1) * np.log(value) - rate * value

    def log_likelihood(self, value: np.ndarray) -> np.ndarray:
        count = len(self.observations)
        return 0.5 * count * np.log(value / (2 * np.pi)) - 0.5 * value * self.square

    def log_pseudo_joint(self, value: np.ndarray) -> np.ndarray:
        """With the prior taken as observations: `2 alpha` of them, of mean square `beta / alpha`.

        What is left for a prior is `1 / value`. Up to a constant.
        """
        count = len(self.observations) + 2 * self.prior_shape
        square = self.square + 2 * self.prior_shape * (self.prior_rate / self.prior_shape)
        return (0.5 * count - 1) * np.log(value) - 0.5 * value * square

    def estimates(self) -> Estimates:
        shape, rate = self.posterior()
        count = len(self.observations)
        log_evidence = (
            self.prior_shape * np.log(self.prior_rate) - gammaln(self.prior_shape)
            + gammaln(shape) - shape * np.log(rate) - 0.5 * count * np.log(2 * np.pi)
        )  # fmt: skip
        return Estimates(
            mle=count / self.square,
            mode=max(shape - 1, 0.0) / rate,
            mean=shape / rate,
            median=float(gammainccinv(shape, 0.5)) / rate,
            scale=float(np.sqrt(shape)) / rate,
            log_evidence=float(log_evidence),
        )


def simulate(count: int, mean: float, scale: float, seed: int) -> np.ndarray:
    """Normal observations `[N]`; fewer are the first of more."""
    return mean + scale * np.random.default_rng(seed).standard_normal(count)


def _log_normal(value: np.ndarray, mean: np.ndarray | float, scale: float) -> np.ndarray:
    return -0.5 * (np.log(2 * np.pi * scale**2) + ((value - mean) / scale) ** 2)
