"""A joint Gaussian over the log noise precision and the weight: the family of ADVI."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.noise_precision.belief import LOG_TWO_PI, Array
from bnnbench.suites.inference_toys.noise_precision.exact import ExactPosterior, kl_of_density
from bnnbench.suites.inference_toys.noise_precision.model import LinearModel, log_joint


@dataclass(frozen=True)
class LogNormal:
    """`(log gamma, w) ~ N(loc, covariance)`; the noise precision is log-normal.

    Attributes:
        loc: `[2]`.
        covariance: `[2, 2]`, diagonal for a mean field.
    """

    loc: Array
    covariance: Array

    @property
    def mean(self) -> float:
        """The mean of the noise precision."""
        return float(np.exp(self.loc[0] + 0.5 * self.covariance[0, 0]))

    @property
    def std(self) -> float:
        """The standard deviation of the noise precision."""
        return float(self.mean * np.sqrt(np.expm1(self.covariance[0, 0])))

    @property
    def weight_mean(self) -> float:
        """The mean of the weight."""
        return float(self.loc[1])

    @property
    def weight_std(self) -> float:
        """The standard deviation of the weight."""
        return float(np.sqrt(self.covariance[1, 1]))

    def log_density_of_log(self, log_precision: Array) -> Array:
        """Return the log density of `log(noise precision)` at `[M]` points."""
        variance = self.covariance[0, 0]
        difference = log_precision - self.loc[0]
        return -0.5 * (LOG_TWO_PI + np.log(variance) + difference**2 / variance)


def log_normal_elbo(model: LinearModel, q: LogNormal) -> float:
    """Return the ELBO in nats, in closed form.

    Under the normalised density `q gamma / E_q[gamma]`, the weight is Gaussian and its mean is
    shifted by the covariance; the squared residuals are taken at the shifted mean.
    """
    (log_variance, covariance), (_, variance) = q.covariance
    shifted = q.loc[1] + covariance
    # Terms with the noise precision use its mean and the shifted weight, other terms the mean.
    xx, xy, yy = model.products
    residuals = yy - 2 * shifted * xy + (shifted**2 + variance) * xx
    constant = log_joint(model, q.loc[0], 0.0, q.loc[1]) - 0.5 * variance / model.prior.variance
    expected = constant - q.mean * (0.5 * residuals + model.prior.rate)
    determinant = log_variance * variance - covariance**2
    # The entropy of gamma is that of its logarithm plus the mean of its logarithm.
    return float(expected + q.loc[0] + 1 + LOG_TWO_PI + 0.5 * np.log(determinant))


def log_normal_kl(model: LinearModel, exact: ExactPosterior, q: LogNormal) -> float:
    """Return `KL(q || exact posterior)` in nats, by quadrature."""
    (log_variance, covariance), (_, variance) = q.covariance
    loc = q.loc[1] + covariance / log_variance * (exact.log_precision - q.loc[0])
    conditional = np.full_like(loc, variance - covariance**2 / log_variance)
    density = q.log_density_of_log(exact.log_precision)
    return kl_of_density(model, exact, density, loc, conditional)
