"""The model of sections 3.2.1.7 and 3.2.2.4: data, joint density, lower bound on the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bnnbench.suites.inference_toys.noise_precision.belief import LOG_TWO_PI, Array, Belief

FARTHEST = 2.0
"""Inputs lie evenly between minus this and this."""


@dataclass(frozen=True)
class Line:
    """Observations `y = w x + noise` of unknown `w` and noise precision `gamma`, and the prior.

    `gamma ~ Ga(shape, rate)`, `w ~ N(loc, variance)`, `y_i ~ N(w x_i, 1 / gamma)`: equations (3.20)
    to (3.22), which are (3.44) to (3.46).

    Attributes:
        inputs: `x`, `[N]`.
        targets: `y`, `[N]`.
        prior: of both unknowns.
    """

    inputs: Array
    targets: Array
    prior: Belief

    @property
    def rows(self) -> int:
        """How many observations, N."""
        return len(self.targets)

    @cached_property
    def products(self) -> tuple[float, float, float]:
        """`x @ x`, `x @ y` and `y @ y`."""
        x, y = self.inputs, self.targets
        return float(x @ x), float(x @ y), float(y @ y)


def simulate(rows: int, weight: float, noise_precision: float, seed: int, prior: Belief) -> Line:
    """Draws targets about a line through the origin, at evenly spaced inputs.

    Args:
        rows: observations.
        weight: true slope.
        noise_precision: true precision of the targets about the line.
        seed: of the noise.
        prior: of the model.
    """
    inputs = np.linspace(-FARTHEST, FARTHEST, rows)
    noise = np.random.default_rng(seed).normal(0.0, noise_precision**-0.5, rows)
    return Line(inputs, weight * inputs + noise, prior)


def log_joint(line: Line, log_precision: Any, precision: Any, weight: Any) -> Any:
    """Log of `p(y, gamma, w)`, equation (3.23), as a density of `gamma` and `w`.

    Made of sums and products only, so that it takes arrays and tensors alike; the logarithm comes
    as an argument, since its mean is not the logarithm of the mean: linear in `log_precision` and
    in `precision`, it also gives expectations under independent ones.

    Args:
        line: data and prior.
        log_precision: log of `gamma`.
        precision: `gamma`.
        weight: `w`.
    """
    xx, xy, yy = line.products
    prior = line.prior
    residuals = yy - 2 * weight * xy + weight * weight * xx
    likelihood = 0.5 * line.rows * (log_precision - LOG_TWO_PI) - 0.5 * precision * residuals
    constant = -Belief(prior.shape, prior.rate, 0.0, prior.variance).log_normaliser()
    gamma = (prior.shape - 1) * log_precision - prior.rate * precision
    return likelihood + gamma - 0.5 * (weight - prior.loc) ** 2 / prior.variance + constant


def evidence_lower_bound(line: Line, belief: Belief) -> Any:
    """The ELBO of a belief in nats, equation (3.9), in closed form."""
    expected = log_joint(line, belief.mean_log, belief.mean, belief.loc)
    curvature = belief.mean * line.products[0] + 1 / line.prior.variance
    return expected - 0.5 * belief.variance * curvature + belief.entropy()
