"""The clutter problem: its model, data, and exact posterior by quadrature.

Some of the observations are `theta` with noise, the others are clutter, and which is which is not
known: `p(x | theta) = (1 - w) N(x; theta, 1) + w N(x; 0, a)`, with the prior `theta ~ N(0, b)`. The
posterior is a mixture of `2 ** N` Gaussians (Minka, "Expectation propagation for approximate
Bayesian inference", UAI 2001, where w = 0.5, a = 10, b = 100; Cinelli et al., section 3.2.2.4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import quad_vec

SIGNAL_VARIANCE = 1.0
"""Of an observation about `theta`, where it is no clutter."""

REACH = 12.0
"""Standard deviations of the prior beyond which no posterior has mass that a double could hold."""

BEYOND = 9.0
"""Distance from all observations from where on no likelihood factor changes any more."""

SCAN = 4001
"""Points at which the highest place of a density is looked for."""

SHOWN = 6.0
"""Standard deviations around the mean that a density is tabulated for."""

NODES = 601
"""Of that table."""


@dataclass(frozen=True)
class Clutter:
    """The model and what was observed.

    Attributes:
        observations: `[N]`.
        clutter_weight: the share of clutter, between 0 and 1.
        clutter_variance: of clutter, whose mean is zero.
        prior_variance: of `theta`, whose prior mean is zero.
    """

    observations: np.ndarray
    clutter_weight: float = 0.5
    clutter_variance: float = 10.0
    prior_variance: float = 100.0

    @property
    def log_clutter(self) -> np.ndarray:
        """`log(w N(x_i; 0, a))`, `[N]`."""
        density = log_normal(self.observations, 0.0, self.clutter_variance)
        return np.log(self.clutter_weight) + density

    def log_signal(
        self, theta: np.ndarray, variance: np.ndarray | float = SIGNAL_VARIANCE
    ) -> np.ndarray:
        """`log((1 - w) N(x_i; theta, variance))`, where `theta` broadcasts against `[N]`."""
        return np.log1p(-self.clutter_weight) + log_normal(self.observations, theta, variance)

    def log_factors(self, theta: np.ndarray) -> np.ndarray:
        """The log of the likelihood factors, where `theta` broadcasts against `[N]`."""
        return np.logaddexp(self.log_signal(theta), self.log_clutter)

    def only(self, chosen: np.ndarray) -> Clutter:
        """The model of some of its observations, numbered from 0; one may be there twice."""
        return replace(self, observations=self.observations[chosen])

    def log_prior(self, theta: np.ndarray) -> np.ndarray:
        """The log density of the prior, in the shape of `theta`."""
        return log_normal(theta, 0.0, self.prior_variance)

    def log_joint(self, theta: np.ndarray) -> np.ndarray:
        """`log p(x, theta)`, in the shape of `theta`."""
        return self.log_prior(theta) + self.log_factors(np.asarray(theta)[..., None]).sum(-1)


@dataclass(frozen=True)
class Exact:
    """The posterior as it is.

    Attributes:
        mean: of `theta`.
        scale: its standard deviation.
        log_evidence: `log p(x)`, nats.
        theta: `[K]`, values around the mean.
        density: `[K]`, of the posterior at these values.
    """

    mean: float
    scale: float
    log_evidence: float
    theta: np.ndarray
    density: np.ndarray


def log_normal(
    value: np.ndarray, mean: np.ndarray | float, variance: np.ndarray | float
) -> np.ndarray:
    """The log density of Gaussians; shapes broadcast."""
    return -0.5 * (np.log(2 * np.pi * variance) + (value - mean) ** 2 / variance)


def simulate(
    count: int, theta: float, clutter_weight: float, clutter_variance: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Observations, and which of them are clutter, `[N]` each.

    Drawn whole, in this order: which are clutter, the clutter, the signal.

    Args:
        count: N.
        theta: the mean that is to be found.
        clutter_weight: the share of clutter.
        clutter_variance: of clutter.
        seed: of NumPy's default generator.
    """
    random = np.random.default_rng(seed)
    is_clutter = random.random(count) < clutter_weight
    clutter = np.sqrt(clutter_variance) * random.standard_normal(count)
    signal = theta + np.sqrt(SIGNAL_VARIANCE) * random.standard_normal(count)
    return np.where(is_clutter, clutter, signal), is_clutter


def exact_posterior(model: Clutter) -> Exact:
    """The posterior by adaptive Gauss-Kronrod quadrature.

    It is told where the posterior is highest and where the likelihood ends, since a narrow peak on
    top of a wide prior is easily missed.
    """
    reach = REACH * np.sqrt(model.prior_variance)
    low, high = model.observations.min() - BEYOND, model.observations.max() + BEYOND
    scan = np.linspace(max(low, -reach), min(high, reach), SCAN)
    heights = model.log_joint(scan)
    peak, top = float(scan[heights.argmax()]), float(heights.max())

    def moments(theta: float) -> np.ndarray:
        off = theta - peak
        return np.exp(model.log_joint(np.array(theta)) - top) * np.array([1.0, off, off**2])

    near = 4 / np.sqrt(len(model.observations))
    points = [p for p in (low, peak - near, peak, peak + near, high) if -reach < p < reach]
    (mass, first, second), _ = quad_vec(
        moments, -reach, reach, epsabs=0.0, epsrel=1e-11, points=points
    )
    mean, variance = first / mass, second / mass - (first / mass) ** 2
    log_evidence, scale = top + np.log(mass), np.sqrt(variance)
    theta = np.linspace(peak + mean - SHOWN * scale, peak + mean + SHOWN * scale, NODES)
    density = np.exp(model.log_joint(theta) - log_evidence)
    return Exact(float(peak + mean), float(scale), float(log_evidence), theta, density)
