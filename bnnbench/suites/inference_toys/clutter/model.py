"""The clutter problem: model, synthetic data and exact posterior by quadrature.

Each observation is either `theta` plus noise or clutter, and its label is unknown:
`p(x | theta) = (1 - w) N(x; theta, 1) + w N(x; 0, a)`, with the prior `theta ~ N(0, b)`. The
posterior is a mixture of `2 ** N` Gaussians (Minka, "Expectation propagation for approximate
Bayesian inference", UAI 2001, where w = 0.5, a = 10, b = 100; Cinelli et al., section 3.2.2.4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import quad_vec

from bnnbench.suites.inference_toys.maths import Array, log_normal

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
        return np.log(self.clutter_weight) + density

    def log_signal(self, theta: Array, variance: Array | float = SIGNAL_VARIANCE) -> Array:
        """Return `log((1 - w) N(x_i; theta, variance))`; `theta` broadcasts against `[N]`."""
        return np.log1p(-self.clutter_weight) + log_normal(self.observations, theta, variance)

    def log_factors(self, theta: Array) -> Array:
        """Return the log of the likelihood factors; `theta` broadcasts against `[N]`."""
        return np.logaddexp(self.log_signal(theta), self.log_clutter)

    def subset(self, indices: Array) -> ClutterModel:
        """Return the model of the observations with these indices, which may repeat."""
        return replace(self, observations=self.observations[indices])

    def log_joint(self, theta: Array) -> Array:
        """Return `log p(x, theta)`, in the shape of `theta`."""
        log_prior = log_normal(theta, 0.0, self.prior_variance)
        return log_prior + self.log_factors(np.asarray(theta)[..., None]).sum(-1)


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
        return np.exp(model.log_joint(np.array(theta)) - log_max) * powers

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
