"""Two reverse-KL approximations of the clutter posterior by a Gaussian, and their lower bounds.

Variational Bayes keeps the unknown label of each observation and takes labels and mean as
independent, `q(c) q(theta)` (Cinelli et al., section 3.2.1.7 has the same recipe). Without labels,
the Gaussian nearest in `KL(q || p)` has to be searched for, and bounds the evidence more tightly;
it is where power EP goes as its power falls to 0 (section 3.2.3.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.clutter.gaussians import divergence, standard_grid
from bnnbench.suites.inference_toys.clutter.model import SIGNAL_VARIANCE, Clutter
from bnnbench.suites.inference_toys.clutter.progress import Progress

NODES, REACH = 321, 10.0
"""Of the grid for expectations under a Gaussian, which are smooth at the scale of a posterior."""


@dataclass(frozen=True)
class Gaussian:
    """An approximate posterior.

    Attributes:
        mean: of `theta`.
        scale: its standard deviation.
        bound: on the log evidence from below, nats.
    """

    mean: float
    scale: float
    bound: float


def start(model: Clutter) -> np.ndarray:
    """`[N]`, the share of signal in each observation before any is looked at."""
    return np.full(len(model.observations), 1 - model.clutter_weight)


def weighted_mean(model: Clutter, signal: np.ndarray) -> tuple[float, float]:
    """Mean and variance of `theta` if observations count as signal by these shares, `[N]`."""
    precision = 1 / model.prior_variance + signal.sum() / SIGNAL_VARIANCE
    return float(signal @ model.observations / SIGNAL_VARIANCE / precision), float(1 / precision)


def variational_bayes(model: Clutter, steps: int, tolerance: float) -> Progress:
    """Coordinate ascent on `q(theta)` and the labels, from labels as likely as a priori.

    The bound after a step is that of its `q(theta)` with the labels that go with it.

    Args:
        model: with its observations.
        steps: at most.
        tolerance: it ends when the bound rises by no more, nats.
    """
    signal, states = start(model), []
    for _ in range(steps):
        mean, variance = weighted_mean(model, signal)
        expected = model.log_signal(np.array(mean)) - 0.5 * variance / SIGNAL_VARIANCE
        log_mass = np.logaddexp(expected, model.log_clutter)
        bound = log_mass.sum() - divergence(mean, variance, model.prior_variance)
        states.append((mean, np.sqrt(variance), bound))
        signal = np.exp(expected - log_mass)
        if len(states) > 1 and abs(states[-1][2] - states[-2][2]) <= tolerance:
            break
    work = len(model.observations) * np.arange(1, len(states) + 1)
    return Progress(work, *np.array(states).T[:, :, None])


def nearest_gaussian(model: Clutter, mean: float, scale: float) -> Gaussian:
    """The Gaussian with the least `KL(q || posterior)`, found by BFGS from another.

    Args:
        model: with its observations.
        mean: of the Gaussian to start from.
        scale: its standard deviation.
    """
    node, weight = standard_grid(NODES, REACH)

    def loss(values: np.ndarray) -> float:
        spread = np.exp(values[1])
        expected = weight @ model.log_factors((values[0] + spread * node)[:, None]).sum(1)
        return float(divergence(values[0], spread**2, model.prior_variance) - expected)

    found = minimize(loss, np.array([mean, np.log(scale)]), method="BFGS", options={"gtol": 1e-7})
    return Gaussian(float(found.x[0]), float(np.exp(found.x[1])), -float(found.fun))
