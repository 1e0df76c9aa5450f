"""Two Gaussian approximations of the clutter posterior that minimise reverse KL.

Variational Bayes keeps the label of each observation and assumes `q(c) q(theta)` (the recipe of
Cinelli et al., section 3.2.1.7). Gaussian VI marginalises the labels and minimises `KL(q || p)`
numerically, which gives a tighter bound; power EP converges to it as the power goes to 0
(section 3.2.3.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.clutter.gaussians import kl_to_prior, standard_normal_grid
from bnnbench.suites.inference_toys.clutter.model import SIGNAL_VARIANCE, ClutterModel
from bnnbench.suites.inference_toys.clutter.progress import Progress

N_NODES, GRID_HALF_WIDTH = 321, 10.0
"""Grid for expectations under a Gaussian; half-width in its standard deviations."""


@dataclass(frozen=True)
class Gaussian:
    """A Gaussian approximation of the posterior.

    Attributes:
        mean: its mean.
        scale: its standard deviation.
        bound: lower bound of the log evidence, nats.
    """

    mean: float
    scale: float
    bound: float


def prior_responsibilities(model: ClutterModel) -> np.ndarray:
    """Return the prior probability that each observation is signal, `[N]`."""
    return np.full(len(model.observations), 1 - model.clutter_weight)


def gaussian_given_responsibilities(
    model: ClutterModel, responsibilities: np.ndarray
) -> tuple[float, float]:
    """Return mean and variance of `theta` when observations are weighted, `[N]`."""
    precision = 1 / model.prior_variance + responsibilities.sum() / SIGNAL_VARIANCE
    mean = responsibilities @ model.observations / SIGNAL_VARIANCE / precision
    return float(mean), float(1 / precision)


def variational_bayes(model: ClutterModel, steps: int, tolerance: float) -> Progress:
    """Run coordinate ascent on `q(theta)` and the labels, starting at the prior probabilities.

    The bound after a step uses its `q(theta)` and the optimal labels given `q(theta)`.

    Args:
        model: the clutter model with its observations.
        steps: maximum number of steps.
        tolerance: stop when the bound increases by at most this, nats.
    """
    responsibilities, states = prior_responsibilities(model), []
    for _ in range(steps):
        mean, variance = gaussian_given_responsibilities(model, responsibilities)
        expected = model.log_signal(np.array(mean)) - 0.5 * variance / SIGNAL_VARIANCE
        log_mass = np.logaddexp(expected, model.log_clutter)
        bound = log_mass.sum() - kl_to_prior(mean, variance, model.prior_variance)
        states.append((mean, np.sqrt(variance), bound))
        responsibilities = np.exp(expected - log_mass)
        if len(states) > 1 and abs(states[-1][2] - states[-2][2]) <= tolerance:
            break
    work = len(model.observations) * np.arange(1, len(states) + 1)
    return Progress(work, *np.array(states).T[:, :, None])


def gaussian_vi(model: ClutterModel, mean: float, scale: float) -> Gaussian:
    """Minimise `KL(q || posterior)` over Gaussians with BFGS.

    Args:
        model: the clutter model with its observations.
        mean: initial mean.
        scale: initial standard deviation.
    """
    nodes, weights = standard_normal_grid(N_NODES, GRID_HALF_WIDTH)

    def loss(values: np.ndarray) -> float:
        std = np.exp(values[1])
        expected = weights @ model.log_factors((values[0] + std * nodes)[:, None]).sum(1)
        return float(kl_to_prior(values[0], std**2, model.prior_variance) - expected)

    start = np.array([mean, np.log(scale)])
    optimum = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    return Gaussian(float(optimum.x[0]), float(np.exp(optimum.x[1])), -float(optimum.fun))
