"""The clutter problem: model, synthetic data, and the posterior, exact and approximate.

Each observation is either `theta` plus noise or clutter, and its label is unknown:
`p(x | theta) = (1 - w) N(x; theta, 1) + w N(x; 0, a)`, with the prior `theta ~ N(0, b)`. The
posterior is a mixture of `2 ** N` Gaussians (Minka, "Expectation propagation for approximate
Bayesian inference", UAI 2001, where w = 0.5, a = 10, b = 100; Cinelli et al., section 3.2.2.4).

The exact posterior is computed by quadrature. Assumed density filtering and expectation propagation
use Gaussian sites (sections 3.2.2 and 3.2.3). Variational Bayes keeps the label of each observation
and assumes `q(c) q(theta)` (the recipe of section 3.2.1.7). Gaussian VI marginalises the labels and
minimises `KL(q || p)` numerically, which gives a tighter bound. Laplace's method is a Gaussian at
the mode. Importance sampling draws from the prior.

All but message passing return estimates `[K, 3, R]`: mean, standard deviation and log evidence (or
its lower bound, in nats) after each of K steps in R repetitions, 1 for deterministic algorithms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self

import numpy as np
from scipy.integrate import quad_vec
from scipy.optimize import minimize
from scipy.special import logsumexp

from bnnbench.suites.inference_toys.expectation_propagation import (
    EPResult,
    EPState,
    SiteUpdate,
    flat_sites,
    run_ep,
)
from bnnbench.suites.inference_toys.maths import Array, log_normal, normal_kl, standard_normal_grid

SIGNAL_VARIANCE = 1.0
"""Variance of a non-clutter observation about `theta`."""

INTEGRATION_HALF_WIDTH = 12.0
"""In prior standard deviations; beyond it the density underflows in double precision."""

LIKELIHOOD_MARGIN = 9.0
"""Distance from all observations beyond which every likelihood factor is constant."""

N_SCAN_POINTS = 4001
"""Grid points of the search for the mode."""

TABLE_HALF_WIDTH, N_TABLE_POINTS = 6.0, 601
"""The tabulated density: range around the mean, in standard deviations, and number of points."""


@dataclass(frozen=True)
class ClutterModel:
    """The model and its observations.

    Attributes:
        observations: `[N]`.
        clutter_weight: probability that an observation is clutter, between 0 and 1.
        clutter_variance: variance of the clutter, which has mean zero.
        prior_variance: prior variance of `theta`, which has prior mean zero.
    """

    observations: Array
    clutter_weight: float = 0.5
    clutter_variance: float = 10.0
    prior_variance: float = 100.0

    @property
    def log_clutter(self) -> Array:
        """`log(w N(x_i; 0, a))`, `[N]`."""
        density = log_normal(self.observations, 0.0, self.clutter_variance)
        return np.asarray(np.log(self.clutter_weight) + density)

    def log_signal(self, theta: Array, variance: Array | float = SIGNAL_VARIANCE) -> Array:
        """Return `log((1 - w) N(x_i; theta, variance))`; `theta` broadcasts against `[N]`."""
        density = log_normal(self.observations, theta, variance)
        return np.asarray(np.log1p(-self.clutter_weight) + density)

    def log_factors(self, theta: Array) -> Array:
        """Return the log of the likelihood factors; `theta` broadcasts against `[N]`."""
        return np.logaddexp(self.log_signal(theta), self.log_clutter)

    def subset(self, indices: Array) -> ClutterModel:
        """Return the model of the observations with these indices, which may repeat."""
        return replace(self, observations=self.observations[indices])

    def log_joint(self, theta: Array) -> Array:
        """Return `log p(x, theta)`, in the shape of `theta`."""
        log_prior = log_normal(theta, 0.0, self.prior_variance)
        return np.asarray(log_prior + self.log_factors(np.asarray(theta)[..., None]).sum(-1))


@dataclass(frozen=True)
class ClutterPosterior:
    """The exact moments of `theta`, `log p(x)` in nats, and the density on a grid, `[K]`."""

    mean: float
    scale: float
    log_evidence: float
    theta: Array
    density: Array


def simulate(
    count: int, theta: float, clutter_weight: float, clutter_variance: float, seed: int
) -> tuple[Array, Array]:
    """Draw observations and their clutter labels, `[N]` each, given the mean of the signal."""
    random = np.random.default_rng(seed)
    is_clutter = random.random(count) < clutter_weight
    clutter = np.sqrt(clutter_variance) * random.standard_normal(count)
    signal = theta + np.sqrt(SIGNAL_VARIANCE) * random.standard_normal(count)
    return np.where(is_clutter, clutter, signal), is_clutter


def exact_posterior(model: ClutterModel) -> ClutterPosterior:
    """Compute the posterior by adaptive Gauss-Kronrod quadrature.

    The mode and the support of the likelihood are passed as break points, because quadrature
    easily misses a narrow peak under a wide prior.
    """
    limit = INTEGRATION_HALF_WIDTH * np.sqrt(model.prior_variance)
    low = model.observations.min() - LIKELIHOOD_MARGIN
    high = model.observations.max() + LIKELIHOOD_MARGIN
    grid = np.linspace(max(low, -limit), min(high, limit), N_SCAN_POINTS)
    log_joint = model.log_joint(grid)
    mode, log_max = float(grid[log_joint.argmax()]), float(log_joint.max())

    def moments(theta: float) -> Array:
        offset = theta - mode
        powers = np.array([1.0, offset, offset**2])
        return np.asarray(np.exp(model.log_joint(np.array(theta)) - log_max) * powers)

    width = 4 / np.sqrt(len(model.observations))
    points = [p for p in (low, mode - width, mode, mode + width, high) if -limit < p < limit]
    (mass, first, second), _ = quad_vec(
        moments, -limit, limit, epsabs=0.0, epsrel=1e-11, points=points
    )
    mean, variance = mode + first / mass, second / mass - (first / mass) ** 2
    log_evidence, scale = log_max + np.log(mass), np.sqrt(variance)
    half_width = TABLE_HALF_WIDTH * scale
    theta = np.linspace(mean - half_width, mean + half_width, N_TABLE_POINTS)
    density = np.exp(model.log_joint(theta) - log_evidence)
    return ClutterPosterior(float(mean), float(scale), float(log_evidence), theta, density)


@dataclass(frozen=True)
class NaturalGaussian:
    """Unnormalised Gaussians `exp(shift theta - precision theta ** 2 / 2)`, section 3.2.3.2.

    Attributes:
        precision: `[R]`, may be negative for a single factor of a product.
        shift: `[R]`, precision times mean.
    """

    precision: Array
    shift: Array

    @classmethod
    def from_natural(cls, natural: Array) -> Self:
        return cls(natural[..., 0], natural[..., 1])

    def natural(self) -> Array:
        return np.stack([self.precision, self.shift], axis=-1)

    @property
    def is_proper(self) -> Array:
        """Whether each Gaussian can be normalised, `[R]`."""
        return np.isfinite(self.precision) & np.isfinite(self.shift) & (self.precision > 0)

    @property
    def mean(self) -> Array:
        return self.shift / self.precision

    @property
    def variance(self) -> Array:
        return 1 / self.precision

    @property
    def log_mass(self) -> Array:
        """Log of the integral, `[R]`."""
        return 0.5 * (np.log(2 * np.pi / self.precision) + self.shift**2 / self.precision)


def expectation_propagation(
    model: ClutterModel, orders: Array, passes: int, tolerance: float
) -> EPResult[NaturalGaussian]:
    """Run EP in each order of the factors, `[R, N]`; the first pass is ADF.

    The estimates are mean, standard deviation and log evidence.
    """
    runs, count = orders.shape
    prior = NaturalGaussian(np.full(runs, 1 / model.prior_variance), np.zeros(runs))

    def update(total: Array, old: Array, factors: Array) -> SiteUpdate:
        return update_site(model, total, old, factors)

    def estimate(state: EPState[NaturalGaussian]) -> Array:
        log_evidence = state.q.log_mass - prior.log_mass + state.log_scales.sum(1)
        return np.stack([state.q.mean, np.sqrt(state.q.variance), log_evidence])

    return run_ep(flat_sites(prior, count), orders, update, estimate, passes, tolerance)


def update_site(model: ClutterModel, total: Array, old: Array, factors: Array) -> SiteUpdate:
    """Compute the new site of one factor per run, (3.61)-(3.63), including its scale."""
    cavity = NaturalGaussian.from_natural(total - old)
    has_cavity = cavity.is_proper
    # Replace improper cavities by a standard normal; their results are discarded.
    cavity = NaturalGaussian(
        np.where(has_cavity, cavity.precision, 1.0), np.where(has_cavity, cavity.shift, 0.0)
    )
    log_mass, mean, variance = tilted_moments(model.subset(factors), cavity.mean, cavity.variance)
    matched = NaturalGaussian(1 / variance, mean / variance)
    site = old + (matched.natural() - total)
    new_total = total + site - old
    is_valid = has_cavity & NaturalGaussian.from_natural(new_total).is_proper
    log_scale = log_mass - matched.log_mass + cavity.log_mass
    return SiteUpdate(new_total, site, log_scale, is_valid)


def tilted_moments(
    selected: ClutterModel, mean: Array, variance: Array
) -> tuple[Array, Array, Array]:
    """Return log mass, mean and variance of cavities times the factor of each run (Minka 2001).

    The cavities are given by their mean and variance, `[R]` each; their products with a factor are
    mixtures of two Gaussians. The model holds the observation of each run.
    """
    total_variance = variance + SIGNAL_VARIANCE
    log_signal = selected.log_signal(mean, total_variance)
    log_mass = np.logaddexp(log_signal, selected.log_clutter)
    signal = np.exp(log_signal - log_mass)
    residual = (selected.observations - mean) / total_variance
    within = variance - signal * variance**2 / total_variance
    between = signal * (1 - signal) * (variance * residual) ** 2
    return log_mass, mean + signal * variance * residual, within + between


N_NODES, GRID_HALF_WIDTH = 321, 10.0
"""Grid for expectations under a Gaussian; half-width in its standard deviations."""

State = tuple[float, float, float]
"""Mean, standard deviation and log evidence."""


def iterate(states: Iterator[State], watched: int, steps: int, tolerance: float) -> Array:
    """Take steps until the watched entry of the state changes by at most the tolerance."""
    taken: list[State] = []
    for state in islice(states, steps):
        taken.append(state)
        if len(taken) > 1 and abs(taken[-1][watched] - taken[-2][watched]) <= tolerance:
            break
    return np.array(taken)[:, :, None]


def prior_responsibilities(model: ClutterModel) -> Array:
    """Return the prior probability that each observation is signal, `[N]`."""
    return np.full(len(model.observations), 1 - model.clutter_weight)


def weighted_posterior(model: ClutterModel, responsibilities: Array) -> tuple[float, float]:
    """Return mean and variance of `theta` if observations have weights, `[N]`."""
    precision = 1 / model.prior_variance + responsibilities.sum() / SIGNAL_VARIANCE
    mean = responsibilities @ model.observations / SIGNAL_VARIANCE / precision
    return float(mean), float(1 / precision)


def variational_bayes(model: ClutterModel, steps: int, tolerance: float) -> Array:
    """Run coordinate ascent on `q(theta)` and the labels, starting at the prior probabilities.

    The bound after a step uses its `q(theta)` and the optimal labels given `q(theta)`. Stops when
    the bound increases by at most the tolerance, in nats.
    """

    def states() -> Iterator[State]:
        responsibilities = prior_responsibilities(model)
        while True:
            mean, variance = weighted_posterior(model, responsibilities)
            expected = model.log_signal(np.array(mean)) - 0.5 * variance / SIGNAL_VARIANCE
            log_mass = np.logaddexp(expected, model.log_clutter)
            bound = log_mass.sum() - normal_kl(mean, variance, model.prior_variance)
            yield mean, np.sqrt(variance), bound
            responsibilities = np.exp(expected - log_mass)

    return iterate(states(), 2, steps, tolerance)


def laplace(model: ClutterModel, steps: int, tolerance: float) -> Array:
    """Return the Laplace approximation at each EM iterate towards a mode.

    Standard deviation and log evidence are NaN where the log posterior is not concave. Stops when
    the mode moves by at most the tolerance.
    """

    def states() -> Iterator[State]:
        responsibilities = prior_responsibilities(model)
        while True:
            mode, _ = weighted_posterior(model, responsibilities)
            log_factors = model.log_factors(np.array(mode))
            responsibilities = np.exp(model.log_signal(np.array(mode)) - log_factors)
            residuals = (model.observations - mode) / SIGNAL_VARIANCE
            mixed = responsibilities * (1 - responsibilities)
            curvature = responsibilities / SIGNAL_VARIANCE - mixed * residuals**2
            precision = 1 / model.prior_variance + curvature.sum()
            variance = 1 / precision if precision > 0 else np.nan
            log_joint = log_normal(mode, 0.0, model.prior_variance) + log_factors.sum()
            yield mode, np.sqrt(variance), log_joint + 0.5 * np.log(2 * np.pi * variance)

    return iterate(states(), 0, steps, tolerance)


def gaussian_vi(model: ClutterModel, mean: float, scale: float) -> Array:
    """Minimise `KL(q || posterior)` over Gaussians with BFGS, from this mean and std; K is 1."""
    nodes, weights = standard_normal_grid(N_NODES, GRID_HALF_WIDTH)

    def loss(values: Array) -> float:
        std = np.exp(values[1])
        expected = weights @ model.log_factors((values[0] + std * nodes)[:, None]).sum(1)
        return float(normal_kl(values[0], std**2, model.prior_variance) - expected)

    start = np.array([mean, np.log(scale)])
    optimum = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    return np.array([optimum.x[0], np.exp(optimum.x[1]), -optimum.fun])[None, :, None]


def importance_sampling(
    model: ClutterModel, draws: Sequence[int], randoms: Iterable[np.random.Generator]
) -> Array:
    """Estimate the posterior from increasing numbers of draws, with one generator per repetition.

    The larger samples contain the smaller ones.
    """

    def estimate(random: np.random.Generator) -> Iterator[tuple[float, ...]]:
        theta = np.sqrt(model.prior_variance) * random.standard_normal(draws[-1])
        log_weights = model.log_factors(theta[:, None]).sum(1)
        for count in draws:
            log_sum = logsumexp(log_weights[:count])
            weights, values = np.exp(log_weights[:count] - log_sum), theta[:count]
            mean = weights @ values
            scale = np.sqrt(weights @ (values - mean) ** 2)
            yield mean, scale, log_sum - np.log(count)

    return np.stack([[*estimate(random)] for random in randoms], axis=2)
