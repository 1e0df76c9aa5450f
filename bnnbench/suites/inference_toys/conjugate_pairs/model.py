"""Two likelihoods with their conjugate priors, and the posteriors in closed form.

Cinelli et al., section 2.5.2: a normal with known variance and a normal prior on its mean, and a
normal with known mean and a Gamma prior on its precision. Two printed equations are wrong: (2.38)
gives one over the posterior *variance*, not standard deviation, and (2.39) omits two variances;
`MeanPair(printed=True)` uses both as printed. Other errata of the chapter: (2.2) gives the uniform
density as 1 / (a - b), the sum of (2.43) starts at 0, and that of (2.63) at 1 instead of 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import gammainccinv, gammaln


@dataclass(frozen=True)
class Estimates:
    """Point estimates of a parameter, and its posterior moments.

    Attributes:
        mle: maximum-likelihood estimate.
        mode: posterior mode, the MAP estimate.
        mean: posterior mean.
        median: posterior median.
        scale: posterior standard deviation.
        log_evidence: nats.
    """

    mle: float
    mode: float
    mean: float
    median: float
    scale: float
    log_evidence: float


class Pair(Protocol):
    """A likelihood with its conjugate prior and data."""

    @property
    def is_positive(self) -> bool:
        """Whether the parameter is positive."""

    @property
    def integration_limits(self) -> tuple[float, float]:
        """Interval that holds all mass of likelihood and posterior."""

    def log_prior(self, value: np.ndarray) -> np.ndarray:
        """Return the log prior density, in the shape of `value`."""

    def log_likelihood(self, value: np.ndarray) -> np.ndarray:
        """Return the log likelihood, in the shape of `value`."""

    def estimates(self) -> Estimates:
        """Return the estimates in closed form."""


@dataclass(frozen=True)
class MeanPair:
    """A normal mean with a normal prior, (2.33)-(2.39).

    Attributes:
        observations: `[N]`.
        scale: known standard deviation of an observation.
        prior_mean: prior mean of the mean.
        prior_scale: prior standard deviation of the mean.
        printed: whether to use (2.38) and (2.39) as printed.
    """

    observations: np.ndarray
    scale: float
    prior_mean: float
    prior_scale: float
    printed: bool = False
    is_positive: ClassVar[bool] = False

    @property
    def integration_limits(self) -> tuple[float, float]:
        ends = np.array([self.prior_mean, self.observations.min(), self.observations.max()])
        width = 12 * max(self.scale, self.prior_scale)
        return float(ends.min() - width), float(ends.max() + width)

    def log_prior(self, value: np.ndarray) -> np.ndarray:
        return _log_normal(value, self.prior_mean, self.prior_scale)

    def log_likelihood(self, value: np.ndarray) -> np.ndarray:
        return _log_normal(self.observations, np.asarray(value)[..., None], self.scale).sum(-1)

    def estimates(self) -> Estimates:
        average = float(self.observations.mean())
        mean, scale = (self._printed if self.printed else self._posterior)(average)
        return Estimates(average, mean, mean, mean, scale, self._log_evidence())

    def _posterior(self, average: float) -> tuple[float, float]:
        """Return mean and standard deviation by the corrected (2.39) and (2.38)."""
        count, noise, prior = len(self.observations), self.scale**2, self.prior_scale**2
        variance = 1 / (1 / prior + count / noise)
        mean = (noise * self.prior_mean + count * prior * average) / (noise + count * prior)
        return mean, float(np.sqrt(variance))

    def _printed(self, average: float) -> tuple[float, float]:
        """Return mean and standard deviation by (2.39) and (2.38) as printed."""
        count, noise, prior = len(self.observations), self.scale**2, self.prior_scale**2
        mean = (self.prior_mean + count * average) / (noise + count * prior)
        return mean, 1 / (1 / prior + count / noise)

    def _log_evidence(self) -> float:
        """Return the log evidence; the observations have covariance `scale^2 I + prior_scale^2`."""
        residuals = self.observations - self.prior_mean
        count, noise, prior = len(residuals), self.scale**2, self.prior_scale**2
        eigenvalue = noise + count * prior
        quadratic = (residuals**2).sum() / noise
        quadratic -= prior * residuals.sum() ** 2 / (noise * eigenvalue)
        log_determinant = (count - 1) * np.log(noise) + np.log(eigenvalue)
        return float(-0.5 * (count * np.log(2 * np.pi) + log_determinant + quadratic))


@dataclass(frozen=True)
class PrecisionPair:
    """The precision of a normal with known mean and a Gamma prior, (2.40)-(2.42).

    Attributes:
        observations: `[N]`.
        mean: known mean of an observation.
        prior_shape: shape of the Gamma prior, alpha.
        prior_rate: rate of the Gamma prior, beta.
    """

    observations: np.ndarray
    mean: float
    prior_shape: float
    prior_rate: float
    is_positive: ClassVar[bool] = True

    @property
    def integration_limits(self) -> tuple[float, float]:
        shape, rate = self.posterior()
        # The likelihood can extend much further than the posterior.
        return 1e-90, (10 * shape + 500) / min(rate, self.sum_of_squares / 2)

    @property
    def sum_of_squares(self) -> float:
        """Sum of squared deviations from the mean."""
        return float(((self.observations - self.mean) ** 2).sum())

    def posterior(self) -> tuple[float, float]:
        """Return shape and rate of the Gamma posterior, (2.42)."""
        return (
            self.prior_shape + len(self.observations) / 2,
            self.prior_rate + self.sum_of_squares / 2,
        )

    def log_prior(self, value: np.ndarray) -> np.ndarray:
        shape, rate = self.prior_shape, self.prior_rate
        normaliser = shape * np.log(rate) - gammaln(shape)
        return normaliser + (shape - 1) * np.log(value) - rate * value

    def log_likelihood(self, value: np.ndarray) -> np.ndarray:
        count = len(self.observations)
        return 0.5 * count * np.log(value / (2 * np.pi)) - 0.5 * value * self.sum_of_squares

    def log_pseudo_joint(self, value: np.ndarray) -> np.ndarray:
        """Replace the prior by `2 alpha` observations of mean square `beta / alpha`.

        The remaining prior is `1 / value`. Defined up to a constant.
        """
        count = len(self.observations) + 2 * self.prior_shape
        sum_of_squares = self.sum_of_squares + 2 * self.prior_shape * (
            self.prior_rate / self.prior_shape
        )
        return (0.5 * count - 1) * np.log(value) - 0.5 * value * sum_of_squares

    def estimates(self) -> Estimates:
        shape, rate = self.posterior()
        count = len(self.observations)
        log_evidence = (
            self.prior_shape * np.log(self.prior_rate) - gammaln(self.prior_shape)
            + gammaln(shape) - shape * np.log(rate) - 0.5 * count * np.log(2 * np.pi)
        )  # fmt: skip
        return Estimates(
            mle=count / self.sum_of_squares,
            mode=max(shape - 1, 0.0) / rate,
            mean=shape / rate,
            median=float(gammainccinv(shape, 0.5)) / rate,
            scale=float(np.sqrt(shape)) / rate,
            log_evidence=float(log_evidence),
        )


def simulate(count: int, mean: float, scale: float, seed: int) -> np.ndarray:
    """Draw normal observations, `[N]`; smaller samples are prefixes of larger ones."""
    return mean + scale * np.random.default_rng(seed).standard_normal(count)


def _log_normal(value: np.ndarray, mean: np.ndarray | float, scale: float) -> np.ndarray:
    return -0.5 * (np.log(2 * np.pi * scale**2) + ((value - mean) / scale) ** 2)
