"""Exact posteriors by quadrature: of the model, and of the target as printed in (3.48)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import gammainccinv, gammaincinv, logsumexp

from bnnbench.suites.inference_toys.maths import LOG_TWO_PI, Array
from bnnbench.suites.inference_toys.noise_precision.model import (
    Belief,
    LinearModel,
    LogNormal,
    log_joint,
)

TAIL_MASS = 1e-15
"""Mass that a grid may omit at either end."""

NODES_PER_STD = 3.0
"""Grid points per standard deviation of the log noise precision; 1 or 2 would suffice."""


@dataclass(frozen=True)
class GridPosterior:
    """An exact posterior on a grid of the logarithm of the noise precision.

    `mean` and `std` are those of the noise precision, `weight_mean` and `weight_std` those of the
    weight, whose marginal is a mixture of Gaussians.

    Attributes:
        log_precision: evenly spaced grid, `[G]`.
        probability: of each point, `[G]`.
        log_evidence: log of the integral of prior times likelihood, nats.
        loc, variance: of the weight given the noise precision, `[G]`.
    """

    log_precision: Array
    probability: Array
    log_evidence: float
    loc: Array
    variance: Array

    @property
    def mean(self) -> float:
        return float(self.probability @ np.exp(self.log_precision))

    @property
    def std(self) -> float:
        difference = np.exp(self.log_precision) - self.mean
        return float(np.sqrt(self.probability @ difference**2))

    @property
    def weight_mean(self) -> float:
        return float(self.probability @ self.loc)

    @property
    def weight_std(self) -> float:
        difference = self.loc - self.weight_mean
        return float(np.sqrt(self.probability @ (self.variance + difference**2)))

    def log_density_of_log(self, log_precision: Array) -> Array:
        """Return the log density of `log(noise precision)` at `[M]` points, by a cubic spline.

        Minus infinity where the grid has no mass.
        """
        positive = self.probability > 0
        points = self.log_precision[positive]
        log_densities = np.log(self.probability[positive]) - np.log(points[1] - points[0])
        spline = CubicSpline(points, log_densities, extrapolate=False)
        return np.asarray(np.nan_to_num(spline(log_precision), nan=-np.inf))


def exact_posterior(model: LinearModel) -> GridPosterior:
    """Return the posterior (3.24); the weight is integrated out analytically."""
    points = grid(model)
    precision = np.exp(points)
    xx, xy, _ = model.products
    prior = model.prior
    total = 1 / prior.variance + precision * xx
    loc = (prior.weight_mean / prior.variance + precision * xy) / total
    # The density is Gaussian in the weight, so its integral is its height times its width.
    log_densities = log_joint(model, points, precision, loc) + 0.5 * (LOG_TWO_PI - np.log(total))
    return on_grid(points, log_densities, loc, 1 / total)


def factorised_posterior(model: LinearModel) -> GridPosterior:
    """Return the exact form of (3.48) as printed, where every observation has its own weight.

    `p(gamma) prod_i int p(y_i | w, gamma) p(w) dw` with the integrals of (3.49): the product is
    outside the integral, although all factors share one `w`. The correct marginal integrates once,
    `p(gamma) N(y; x mu, I / gamma + x x' / tau)`, as in `exact_posterior`.
    """
    points, prior = grid(model), model.prior
    total_variance = model.inputs[:, None] ** 2 * prior.variance + np.exp(-points)
    difference = model.targets[:, None] - model.inputs[:, None] * prior.weight_mean
    factors = -0.5 * (LOG_TWO_PI + np.log(total_variance) + difference**2 / total_variance)
    log_densities = prior.log_density_of_log(points) - points + factors.sum(0)
    return on_grid(points, log_densities, *prior.weight_given(points))


def grid(model: LinearModel) -> Array:
    """Return a grid of log noise precisions that covers prior and posterior, `[G]`."""
    xx, xy, yy = model.products
    prior, max_shape = model.prior, model.prior.shape + 0.5 * model.rows
    min_rate = prior.rate + 0.5 * (yy - xy**2 / xx)
    # The left tail is that of the flattest admissible Gamma, the right one that of the prior.
    low = np.log(gammaincinv(1.0, TAIL_MASS) / (prior.rate + yy))
    high = np.log(
        max(
            gammainccinv(prior.shape, TAIL_MASS) / prior.rate,
            gammainccinv(max_shape, TAIL_MASS) / min_rate,
        )
    )
    return np.arange(low, high + 1, 1 / (NODES_PER_STD * np.sqrt(max_shape)))


def on_grid(points: Array, log_densities: Array, loc: Array, variance: Array) -> GridPosterior:
    """Normalise log densities of the noise precision at the points."""
    masses = log_densities + points + np.log(points[1] - points[0])
    log_evidence = float(logsumexp(masses))
    return GridPosterior(points, np.exp(masses - log_evidence), log_evidence, loc, variance)


def kl_to_posterior(model: LinearModel, exact: GridPosterior, q: Belief | LogNormal) -> float:
    """Return `KL(q || exact posterior)` in nats, by quadrature on the grid."""
    points = exact.log_precision
    log_density, (loc, variance) = q.log_density_of_log(points), q.weight_given(points)
    # Three nodes: the log joint density is quadratic in the weight.
    nodes, masses = np.polynomial.hermite_e.hermegauss(3)
    weight = loc + np.sqrt(variance) * nodes[:, None]
    q_weight = -0.5 * (LOG_TWO_PI + np.log(variance) + nodes[:, None] ** 2)
    # The density of the logarithm includes the noise precision as Jacobian.
    target = log_joint(model, points, np.exp(points), weight) + points - exact.log_evidence
    inner = (masses / masses.sum()) @ (log_density + q_weight - target)
    return float(np.exp(log_density) @ inner * (points[1] - points[0]))
