"""The exact answers by quadrature, of the model and of the target that equation (3.48) prints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import gammainccinv, gammaincinv, logsumexp

from bnnbench.suites.inference_toys.noise_precision.belief import LOG_TWO_PI, Array, Belief
from bnnbench.suites.inference_toys.noise_precision.model import Line, log_joint

TAIL = 1e-15
"""Mass that a grid may leave out at either end, of the widest and the narrowest of its Gammas."""

FINENESS = 3.0
"""Points of a grid per standard deviation of the logarithm; the trapezoid rule needs one or two."""


@dataclass(frozen=True)
class Posterior:
    """An exact posterior on a grid of the logarithm of the noise precision.

    Attributes:
        log_precision: evenly spaced, `[G]`.
        probability: of each point, sums to 1, `[G]`.
        log_evidence: log of the integral of prior times likelihood, nats.
        loc: mean of the weight given the noise precision, `[G]`.
        variance: of the weight given the noise precision, `[G]`.
    """

    log_precision: Array
    probability: Array
    log_evidence: float
    loc: Array
    variance: Array

    @property
    def mean(self) -> float:
        """Of the noise precision."""
        return float(self.probability @ np.exp(self.log_precision))

    @property
    def std(self) -> float:
        """Of the noise precision."""
        off = np.exp(self.log_precision) - self.mean
        return float(np.sqrt(self.probability @ off**2))

    @property
    def weight_mean(self) -> float:
        """Of the weight."""
        return float(self.probability @ self.loc)

    @property
    def weight_std(self) -> float:
        """Of the weight: its marginal is a mixture of Gaussians."""
        off = self.loc - self.weight_mean
        return float(np.sqrt(self.probability @ (self.variance + off**2)))

    def log_density_of_log(self, log_precision: Array) -> Array:
        """Log density of the logarithm of the noise precision, `[M]`, by a cubic spline.

        Minus infinity where the grid has no mass.
        """
        seen = self.probability > 0
        points = self.log_precision[seen]
        heights = np.log(self.probability[seen]) - np.log(points[1] - points[0])
        found = CubicSpline(points, heights, extrapolate=False)(log_precision)
        return np.nan_to_num(found, nan=-np.inf)


def grid(line: Line) -> Array:
    """Logarithms of noise precisions that hold the prior, the posterior and what lies between."""
    xx, xy, yy = line.products
    prior, most = line.prior, line.prior.shape + 0.5 * line.rows
    least_rate = prior.rate + 0.5 * (yy - xy**2 / xx)
    # The left tail of the flattest Gamma that algorithms admit, the right one of the prior.
    low = np.log(gammaincinv(1.0, TAIL) / (prior.rate + yy))
    ends = (gammainccinv(prior.shape, TAIL) / prior.rate, gammainccinv(most, TAIL) / least_rate)
    return np.arange(low, np.log(max(ends)) + 1, 1 / (FINENESS * np.sqrt(most)))


def posterior(line: Line) -> Posterior:
    """The exact posterior (3.24): the weight is integrated out once, given the noise precision."""
    points = grid(line)
    precision = np.exp(points)
    xx, xy, _ = line.products
    prior = line.prior
    total = 1 / prior.variance + precision * xx
    loc = (prior.loc / prior.variance + precision * xy) / total
    # Gaussian in the weight: its integral is its height times its width.
    heights = log_joint(line, points, precision, loc) + 0.5 * (LOG_TWO_PI - np.log(total))
    return _on_grid(points, heights, loc, 1 / total)


def factorised_posterior(line: Line) -> Posterior:
    """The exact form of what (3.48) prints, where every observation has a weight of its own.

    `p(gamma) prod_i int p(y_i | w, gamma) p(w) dw` with the integrals of (3.49): the product has
    moved out of an integral in which all factors share one `w`. The right marginal integrates
    once, `p(gamma) N(y; x mu, I / gamma + x x' / tau)`, and is that of `posterior`.
    """
    points, prior = grid(line), line.prior
    spread = line.inputs[:, None] ** 2 * prior.variance + np.exp(-points)
    off = line.targets[:, None] - line.inputs[:, None] * prior.loc
    factors = -0.5 * (LOG_TWO_PI + np.log(spread) + off**2 / spread)
    heights = prior.log_density_of_log(points) - points + factors.sum(0)
    same = np.ones_like(points)
    return _on_grid(points, heights, prior.loc * same, prior.variance * same)


def _on_grid(points: Array, heights: Array, loc: Array, variance: Array) -> Posterior:
    """From log densities of the noise precision at the points, not normalised."""
    masses = heights + points + np.log(points[1] - points[0])
    log_evidence = float(logsumexp(masses))
    return Posterior(points, np.exp(masses - log_evidence), log_evidence, loc, variance)


def divergence(line: Line, exact: Posterior, belief: Belief) -> float:
    """`KL(belief || exact posterior)` in nats, by quadrature on the grid, where the belief lies."""
    loc, variance = (np.full_like(exact.log_precision, v) for v in (belief.loc, belief.variance))
    density = belief.log_density_of_log(exact.log_precision)
    return divergence_of_density(line, exact, density, loc, variance)


def divergence_of_density(
    line: Line, exact: Posterior, log_density: Array, loc: Array, variance: Array
) -> float:
    """`KL(q || exact posterior)` in nats, where the weight is Gaussian given the noise precision.

    Args:
        line: data and prior.
        exact: its posterior.
        log_density: of the logarithm of the noise precision under `q`, on the grid, `[G]`.
        loc: mean of the weight given the noise precision under `q`, `[G]`.
        variance: likewise.
    """
    points = exact.log_precision
    # Three nodes: the log joint density is quadratic in the weight.
    nodes, shares = np.polynomial.hermite_e.hermegauss(3)
    weight = loc + np.sqrt(variance) * nodes[:, None]
    q_weight = -0.5 * (LOG_TWO_PI + np.log(variance) + nodes[:, None] ** 2)
    # Of the logarithm, hence times the noise precision.
    target = log_joint(line, points, np.exp(points), weight) + points - exact.log_evidence
    inner = (shares / shares.sum()) @ (log_density + q_weight - target)
    return float(np.exp(log_density) @ inner * (points[1] - points[0]))
