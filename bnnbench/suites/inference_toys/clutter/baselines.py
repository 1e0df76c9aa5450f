"""Approximations of the clutter posterior other than EP.

Variational Bayes keeps the label of each observation and assumes `q(c) q(theta)` (the recipe of
Cinelli et al., section 3.2.1.7). Gaussian VI marginalises the labels and minimises `KL(q || p)`
numerically, which gives a tighter bound. Laplace's method is a Gaussian at the mode. Importance
sampling draws from the prior.

All return estimates `[K, 3, R]`: mean, standard deviation and log evidence (or its lower bound, in
nats) after each of K steps in R repetitions, 1 for deterministic algorithms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from bnnbench.suites.inference_toys.clutter.model import SIGNAL_VARIANCE, ClutterModel
from bnnbench.suites.inference_toys.maths import (
    Array,
    log_normal,
    normal_kl,
    standard_normal_grid,
)

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
