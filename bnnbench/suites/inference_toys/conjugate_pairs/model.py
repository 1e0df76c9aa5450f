"""Two likelihoods with their conjugate priors, and the posteriors in closed form.

Cinelli et al., section 2.5.2: a normal with known variance and a normal prior on its mean, and a
normal with known mean and a Gamma prior on its precision. Two printed equations are wrong: (2.38)
gives one over the posterior *variance*, not standard deviation, and (2.39) omits two variances.
Other errata of the chapter: (2.2) gives the uniform density as 1 / (a - b), the sum of (2.43)
starts at 0, and that of (2.63) at 1 instead of 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammainccinv, gammaln

from bnnbench.suites.inference_toys.conjugate_pairs.quadrature import (
    Axis,
    LogDensity,
    discretise,
    maximise,
)

MLE, MAP, MEAN, MEDIAN = "MLE", "MAP", "posterior mean", "posterior median"
SCALE, EVIDENCE = "posterior standard deviation", "log evidence"  # the evidence in nats

CLOSED_FORM = "closed form"
AS_PRINTED = "closed form as printed"
PSEUDO = "pseudo-observations"

Estimates = dict[str, float]
"""Estimates of a parameter and moments of its posterior, by name."""


@dataclass(frozen=True)
class MeanPair:
    """A normal mean with a normal prior, (2.33)-(2.39).

    The observations `[N]` have the known standard deviation `scale`.
    """

    observations: np.ndarray
    scale: float
    prior_mean: float
    prior_scale: float
    name: ClassVar[str] = "normal mean"

    @property
    def axis(self) -> Axis:
        """Interval that holds all mass of likelihood and posterior."""
        ends = np.array([self.prior_mean, self.observations.min(), self.observations.max()])
        width = 12 * max(self.scale, self.prior_scale)
        return Axis(float(ends.min() - width), float(ends.max() + width), is_positive=False)

    def log_prior(self, value: np.ndarray) -> np.ndarray:
        """Return the log prior density, in the shape of `value`."""
        return _log_normal(value, self.prior_mean, self.prior_scale)

    def log_likelihood(self, value: np.ndarray) -> np.ndarray:
        """Return the log likelihood, in the shape of `value`."""
        return _log_normal(self.observations, np.asarray(value)[..., None], self.scale).sum(-1)

    def approximations(self) -> dict[str, Estimates]:
        """Return the estimates by (2.39) and (2.38), corrected and as printed."""
        average, count = float(self.observations.mean()), len(self.observations)
        noise, prior = self.scale**2, self.prior_scale**2
        total = noise + count * prior
        mean = (noise * self.prior_mean + count * prior * average) / total
        variance = 1 / (1 / prior + count / noise)
        corrected = _estimates_of_normal(mean, float(np.sqrt(variance)))
        printed = _estimates_of_normal((self.prior_mean + count * average) / total, variance)
        return {
            CLOSED_FORM: {MLE: average, **corrected, EVIDENCE: self._log_evidence()},
            AS_PRINTED: printed,
        }

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

    The observations have shape `[N]`; shape and rate of the prior are alpha and beta.
    """

    observations: np.ndarray
    mean: float
    prior_shape: float
    prior_rate: float
    name: ClassVar[str] = "precision"

    @property
    def sum_of_squares(self) -> float:
        """Sum of squared deviations from the mean."""
        return float(((self.observations - self.mean) ** 2).sum())

    @property
    def shape(self) -> float:
        """Shape of the Gamma posterior, (2.42)."""
        return self.prior_shape + len(self.observations) / 2

    @property
    def rate(self) -> float:
        """Rate of the Gamma posterior, (2.42)."""
        return self.prior_rate + self.sum_of_squares / 2

    @property
    def axis(self) -> Axis:
        # The likelihood can extend much further than the posterior.
        high = (10 * self.shape + 500) / min(self.rate, self.sum_of_squares / 2)
        return Axis(np.log(1e-90), np.log(high), is_positive=True)

    def log_prior(self, value: np.ndarray) -> np.ndarray:
        shape, rate = self.prior_shape, self.prior_rate
        normaliser = shape * np.log(rate) - gammaln(shape)
        return normaliser + (shape - 1) * np.log(value) - rate * value

    def log_likelihood(self, value: np.ndarray) -> np.ndarray:
        count = len(self.observations)
        return 0.5 * count * np.log(value / (2 * np.pi)) - 0.5 * value * self.sum_of_squares

    def approximations(self) -> dict[str, Estimates]:
        """Return the closed form, and the mean by pseudo-observations."""
        shape, rate, count = self.shape, self.rate, len(self.observations)
        log_evidence = (
            self.prior_shape * np.log(self.prior_rate) - gammaln(self.prior_shape)
            + gammaln(shape) - shape * np.log(rate) - 0.5 * count * np.log(2 * np.pi)
        )  # fmt: skip
        closed_form = {
            MLE: count / self.sum_of_squares,
            MAP: max(shape - 1, 0.0) / rate,
            MEAN: shape / rate,
            MEDIAN: float(gammainccinv(shape, 0.5)) / rate,
            SCALE: float(np.sqrt(shape)) / rate,
            EVIDENCE: float(log_evidence),
        }
        pseudo = discretise(self.log_pseudo_joint, self.axis)
        return {CLOSED_FORM: closed_form, PSEUDO: {MEAN: pseudo.mean}}

    def log_pseudo_joint(self, value: np.ndarray) -> np.ndarray:
        """Replace the prior by `2 alpha` observations of mean square `beta / alpha`.

        The remaining prior is `1 / value`. Defined up to a constant.
        """
        pseudo, mean_square = 2 * self.prior_shape, self.prior_rate / self.prior_shape
        count = len(self.observations) + pseudo
        sum_of_squares = self.sum_of_squares + pseudo * mean_square
        return (0.5 * count - 1) * np.log(value) - 0.5 * value * sum_of_squares


Pair = MeanPair | PrecisionPair
"""A likelihood with its conjugate prior and data."""


def log_joint(pair: Pair) -> LogDensity:
    """Return `log p(observations, parameter)` as a function of the parameter."""
    return lambda value: pair.log_prior(value) + pair.log_likelihood(value)


def numerical_estimates(pair: Pair) -> Estimates:
    """Return all estimates by quadrature and optimisation, without conjugacy."""
    posterior = discretise(log_joint(pair), pair.axis)
    return {
        MLE: maximise(pair.log_likelihood, pair.axis),
        MAP: maximise(log_joint(pair), pair.axis),
        MEAN: posterior.mean,
        MEDIAN: posterior.median,
        SCALE: posterior.scale,
        EVIDENCE: posterior.log_mass,
    }


def simulate(count: int, mean: float, scale: float, seed: int) -> np.ndarray:
    """Draw normal observations, `[N]`; smaller samples are prefixes of larger ones."""
    return mean + scale * np.random.default_rng(seed).standard_normal(count)


def _estimates_of_normal(mean: float, scale: float) -> Estimates:
    return {MAP: mean, MEAN: mean, MEDIAN: mean, SCALE: scale}


def _log_normal(value: np.ndarray, mean: np.ndarray | float, scale: float) -> np.ndarray:
    return -0.5 * (np.log(2 * np.pi * scale**2) + ((value - mean) / scale) ** 2)
