"""The model of sections 3.2.1.7 and 3.2.2.4: joint density, lower bounds, coordinate ascent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bnnbench.suites.inference_toys.maths import LOG_TWO_PI, Array
from bnnbench.suites.inference_toys.noise_precision.families import Belief, LogNormal

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
