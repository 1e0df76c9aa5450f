"""A joint Gaussian over the logarithm of the noise precision and the weight: ADVI's family."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.noise_precision.belief import LOG_TWO_PI, Array
from bnnbench.suites.inference_toys.noise_precision.exact import Posterior, divergence_of_density
from bnnbench.suites.inference_toys.noise_precision.model import Line, log_joint


@dataclass(frozen=True)
class LogNormal:
    """`(log gamma, w) ~ N(loc, covariance)`, so that the noise precision is log-normal.

    Attributes:
        loc: `[2]`.
        covariance: `[2, 2]`, diagonal for a mean field.
    """

    loc: Array
    covariance: Array

    @property
    def mean(self) -> float:
        """Of the noise precision."""
        return float(np.exp(self.loc[0] + 0.5 * self.covariance[0, 0]))

    @property
    def std(self) -> float:
        """Of the noise precision."""
        return float(self.mean * np.sqrt(np.expm1(self.covariance[0, 0])))

    @property
    def weight_mean(self) -> float:
        """Of the weight."""
        return float(self.loc[1])

    @property
    def weight_std(self) -> float:
        """Of the weight."""
        return float(np.sqrt(self.covariance[1, 1]))

    def log_density_of_log(self, log_precision: Array) -> Array:
        """Log density of the logarithm of the noise precision, `[M]`."""
        variance = self.covariance[0, 0]
        off = log_precision - self.loc[0]
        return -0.5 * (LOG_TWO_PI + np.log(variance) + off**2 / variance)


def log_normal_bound(line: Line, q: LogNormal) -> float:
    """The ELBO in nats, in closed form.

    Under `q` times `gamma`, and normalised, the weight is Gaussian about a mean that is shifted by
    the covariance; that is where the squared residuals are taken.
    """
    (spread, shared), (_, variance) = q.covariance
    shifted = q.loc[1] + shared
    # Once with the noise precision's own mean at the shifted weight, once without it at the mean.
    xx, xy, yy = line.products
    residuals = yy - 2 * shifted * xy + (shifted**2 + variance) * xx
    rest = log_joint(line, q.loc[0], 0.0, q.loc[1]) - 0.5 * variance / line.prior.variance
    expected = rest - q.mean * (0.5 * residuals + line.prior.rate)
    determinant = spread * variance - shared**2
    # The entropy of gamma is that of its logarithm plus the logarithm's mean.
    return float(expected + q.loc[0] + 1 + LOG_TWO_PI + 0.5 * np.log(determinant))


def log_normal_divergence(line: Line, exact: Posterior, q: LogNormal) -> float:
    """`KL(q || exact posterior)` in nats, by quadrature."""
    (spread, shared), (_, variance) = q.covariance
    loc = q.loc[1] + shared / spread * (exact.log_precision - q.loc[0])
    left = np.full_like(loc, variance - shared**2 / spread)
    density = q.log_density_of_log(exact.log_precision)
    return divergence_of_density(line, exact, density, loc, left)
