"""The model of sections 3.2.1.7 and 3.2.2.4, and distributions over its two unknowns.

`mean` and `std` of a distribution are those of the noise precision, `weight_mean` and `weight_std`
those of the weight, which is Gaussian given the noise precision. The model has a joint density,
lower bounds and coordinate ascent. Quadrature gives exact posteriors: that of the model, and that
of the target as printed in (3.48).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import digamma, gammainccinv, gammaincinv, gammaln, logsumexp

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
        return np.asarray(-0.5 * (LOG_TWO_PI + np.log(variance) + difference**2 / variance))

    def weight_given(self, log_precision: Array) -> tuple[Array, Array]:
        (log_variance, covariance), (_, variance) = self.covariance
        mean = self.loc[1] + covariance / log_variance * (log_precision - self.loc[0])
        return mean, np.full_like(mean, variance - covariance**2 / log_variance)


MAX_ITERATIONS = 200
"""Maximum number of iterations; a handful suffice."""

TOLERANCE = 1e-12
"""Relative change of the lower bound over an iteration at convergence."""


@dataclass(frozen=True)
class LinearModel:
    """Observations `y = w x + noise` with unknown `w` and noise precision `gamma`, and the prior.

    `gamma ~ Ga(shape, rate)`, `w ~ N(mean, variance)`, `y_i ~ N(w x_i, 1 / gamma)`: equations
    (3.20) to (3.22), repeated as (3.44) to (3.46).
    Inputs `x` and targets `y` have shape `[N]`.
    """

    inputs: Array
    targets: Array
    prior: Belief

    @property
    def rows(self) -> int:
        """The number of observations, N."""
        return len(self.targets)

    @cached_property
    def products(self) -> tuple[float, float, float]:
        """The products `x @ x`, `x @ y` and `y @ y`."""
        x, y = self.inputs, self.targets
        return float(x @ x), float(x @ y), float(y @ y)


def log_joint(model: LinearModel, log_precision: Any, precision: Any, weight: Any) -> Any:
    """Return the log of `p(y, gamma, w)`, equation (3.23), as a density of `gamma` and `w`.

    Works on arrays and tensors. It is linear in `log_precision` and in `precision`, which are
    separate arguments so that their expectations can be passed, too.
    """
    xx, xy, yy = model.products
    prior = model.prior
    residuals = yy - 2 * weight * xy + weight * weight * xx
    likelihood = 0.5 * model.rows * (log_precision - LOG_TWO_PI) - 0.5 * precision * residuals
    constant = -Belief(prior.shape, prior.rate, 0.0, prior.variance).log_normaliser()
    gamma = (prior.shape - 1) * log_precision - prior.rate * precision
    return likelihood + gamma - 0.5 * (weight - prior.weight_mean) ** 2 / prior.variance + constant


def evidence_lower_bound(model: LinearModel, q: Belief | LogNormal) -> float:
    """Return the ELBO in nats, equation (3.9), in closed form."""
    if isinstance(q, LogNormal):
        return log_normal_bound(model, q)
    expected = log_joint(model, q.mean_log, q.mean, q.weight_mean)
    curvature = q.mean * model.products[0] + 1 / model.prior.variance
    return float(expected - 0.5 * q.variance * curvature + q.entropy())


def log_normal_bound(model: LinearModel, q: LogNormal) -> float:
    """Return the ELBO of a log-normal in nats.

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


def update_weight(model: LinearModel, belief: Belief) -> Belief:
    """Return the belief with the optimal factor of the weight, (3.27)."""
    xx, xy, _ = model.products
    prior = model.prior
    precision = xx * belief.mean + 1 / prior.variance
    mean = (xy * belief.mean + prior.weight_mean / prior.variance) / precision
    return replace(belief, weight_mean=mean, variance=1 / precision)


def update_precision(model: LinearModel, belief: Belief, printed: bool) -> Belief:
    """Return the belief with the optimal factor of the noise precision, (3.29).

    The log-likelihood of N observations contains `N/2 log gamma`, so the shape increases by `N/2`.
    Equations (3.28) and (3.29) print `1/2`, the term of a single observation, with the squared
    residuals of all of them; the bound then decreases.
    """
    xx, xy, yy = model.products
    residuals = yy - 2 * belief.weight_mean * xy + (belief.weight_mean**2 + belief.variance) * xx
    n_terms = 1 if printed else model.rows
    prior = model.prior
    return replace(belief, shape=prior.shape + 0.5 * n_terms, rate=prior.rate + 0.5 * residuals)


def run_cavi(model: LinearModel, printed: bool = False) -> list[Belief]:
    """Alternate both updates until the bound converges; returns the prior and all updates."""
    beliefs = [model.prior]
    for _ in range(MAX_ITERATIONS):
        beliefs.append(update_weight(model, beliefs[-1]))
        beliefs.append(update_precision(model, beliefs[-1], printed))
        before, after = (evidence_lower_bound(model, beliefs[index]) for index in (-3, -1))
        if abs(after - before) < TOLERANCE * abs(after):
            break
    return beliefs


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
