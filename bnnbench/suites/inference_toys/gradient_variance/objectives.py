"""Functions whose expectation under `q = Normal(loc, scale^2)` has a gradient to be estimated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

Numbers = float | Values

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Normal:
    """The distribution q; its parameters are `loc` and the logarithm of `scale`.

    Attributes:
        loc: mean; an array is as many distributions, `[R, 1]` against noise `[R, S]`.
        scale: standard deviation, likewise.
    """

    loc: Numbers
    scale: Numbers


class Objective(Protocol):
    """A function of z, whose expectation under q is sought."""

    @property
    def entropy(self) -> bool:
        """Whether `-log q(z)` is added to it: then the expectation is an ELBO."""

    def value(self, z: Values) -> Values:
        """At points of any shape."""

    def derivative(self, z: Values) -> Values:
        """At points of any shape."""


@dataclass(frozen=True)
class Quadratic:
    """`constant + slope z + curvature z^2`; arrays of coefficients are as many functions."""

    constant: Numbers
    slope: Numbers
    curvature: Numbers
    entropy: bool = False

    def value(self, z: Values) -> Values:
        return np.asarray(self.constant + z * (self.slope + z * self.curvature))

    def derivative(self, z: Values) -> Values:
        return np.asarray(self.slope + 2 * self.curvature * z)

    def around(self, q: Normal) -> tuple[Numbers, Numbers, Numbers]:
        """`c0, c1, c2` of `c0 + c1 e + c2 e^2` where `z = loc + scale e`, without the entropy."""
        return (
            self.constant + q.loc * (self.slope + q.loc * self.curvature),
            q.scale * (self.slope + 2 * self.curvature * q.loc),
            q.scale**2 * self.curvature,
        )

    def gradient(self, q: Normal) -> Values:
        """Of the expectation by `loc` and `log scale`, `[2]`, with the entropy's if it has one."""
        _, first, second = self.around(q)
        return np.array([first / q.scale, 2 * second + self.entropy])


@dataclass(frozen=True)
class Wave:
    """`cos(frequency z)`: values say little of slopes here."""

    frequency: float
    entropy: bool = False

    def value(self, z: Values) -> Values:
        return np.cos(self.frequency * z)

    def derivative(self, z: Values) -> Values:
        return -self.frequency * np.sin(self.frequency * z)


def squared_distance(target: float) -> Quadratic:
    """`(z - target)^2`."""
    return Quadratic(target**2, -2 * target, 1.0)


@dataclass(frozen=True)
class OneWeight:
    """`y_i = w x_i + noise` of known precision, with the prior `w ~ N(0, 1 / prior_precision)`.

    Attributes:
        inputs: `x`, `[N]`.
        targets: `y`, `[N]`.
        noise_precision: of the targets about the line.
        prior_precision: of the weight.
    """

    inputs: Values
    targets: Values
    noise_precision: float
    prior_precision: float

    @property
    def posterior(self) -> Normal:
        """Exact."""
        precision = self.prior_precision + self.noise_precision * self.inputs @ self.inputs
        mean = self.noise_precision * self.inputs @ self.targets / precision
        return Normal(float(mean), float(precision**-0.5))

    @property
    def prior(self) -> Normal:
        return Normal(0.0, self.prior_precision**-0.5)

    def elbo(self, rows: NDArray[np.intp] | None = None) -> Quadratic:
        """Whose expectation under q is the ELBO (eq. 3.7): `log p(y, w)`, with the entropy.

        Args:
            rows: of minibatches, `[..., B]`, whose log-likelihoods are scaled to all N rows; all
                rows if not given.

        Returns:
            Coefficients of shape `[...]`.
        """
        count, precision = len(self.targets), self.noise_precision
        x, y = (
            (self.inputs, self.targets) if rows is None else (self.inputs[rows], self.targets[rows])
        )
        share = precision * count / x.shape[-1]
        xx, xy, yy = (share * (a * b).sum(-1) for a, b in ((x, x), (x, y), (y, y)))
        log_scales = 0.5 * (count * math.log(precision) + math.log(self.prior_precision))
        constant = log_scales - (count + 1) * HALF_LOG_TWO_PI
        return Quadratic(constant - 0.5 * yy, xy, -0.5 * (xx + self.prior_precision), entropy=True)


def simulate(
    rows: int, weight: float, noise_precision: float, prior_precision: float, seed: int
) -> OneWeight:
    """Draws targets about a line through the origin at inputs evenly spaced from -2 to 2.

    Args:
        rows: observations.
        weight: true slope.
        noise_precision: of the targets about the line.
        prior_precision: of the model.
        seed: of the noise.
    """
    inputs = np.linspace(-2.0, 2.0, rows)
    noise = np.random.default_rng(seed).normal(0.0, noise_precision**-0.5, rows)
    return OneWeight(inputs, weight * inputs + noise, noise_precision, prior_precision)


def kl(q: Normal, p: Normal) -> Numbers:
    """KL(q || p) in nats."""
    ratio, away = q.scale / p.scale, (q.loc - p.loc) / p.scale
    return 0.5 * (ratio**2 + away**2 - 1) - np.log(ratio)
