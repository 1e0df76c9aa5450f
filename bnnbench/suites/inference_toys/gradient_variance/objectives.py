"""Functions whose expectation under `q = Normal(loc, scale^2)` is differentiated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

Numbers = float | Values

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Normal:
    """The distribution q; its parameters are `loc` and the logarithm of `scale`.

    Attributes:
        loc: mean; a number, or `[R, 1]` for R distributions with noise `[R, S]`.
        scale: standard deviation; same shape.
    """

    loc: Numbers
    scale: Numbers


@dataclass(frozen=True)
class Quadratic:
    """`constant + slope z + curvature z^2`; arrays of coefficients represent several functions.

    Attributes:
        entropy: whether the objective includes the entropy of q, as an ELBO does.
    """

    constant: Numbers
    slope: Numbers
    curvature: Numbers
    entropy: bool = False

    def value(self, z: Values) -> Values:
        return np.asarray(self.constant + z * (self.slope + z * self.curvature))

    def derivative(self, z: Values) -> Values:
        return np.asarray(self.slope + 2 * self.curvature * z)

    def coefficients(self, q: Normal) -> tuple[Numbers, Numbers, Numbers]:
        """Return the coefficients of `c0 + c1 e + c2 e^2` where `z = loc + scale e`."""
        return (
            self.constant + q.loc * (self.slope + q.loc * self.curvature),
            q.scale * (self.slope + 2 * self.curvature * q.loc),
            q.scale**2 * self.curvature,
        )

    def gradient(self, q: Normal) -> Values:
        """Return the exact gradient with respect to `loc` and `log scale`, `[2]`."""
        _, first, second = self.coefficients(q)
        return np.array([first / q.scale, 2 * second + self.entropy])


@dataclass(frozen=True)
class Cosine:
    """`cos(frequency z)`, whose derivative is large although its values are bounded by 1."""

    frequency: float
    entropy: ClassVar[bool] = False

    def value(self, z: Values) -> Values:
        return np.cos(self.frequency * z)

    def derivative(self, z: Values) -> Values:
        return -self.frequency * np.sin(self.frequency * z)


Objective = Quadratic | Cosine


def squared_distance(target: float) -> Quadratic:
    """`(z - target)^2`."""
    return Quadratic(target**2, -2 * target, 1.0)


@dataclass(frozen=True)
class KnownNoiseModel:
    """`y_i = w x_i + noise` with known noise precision and prior `w ~ N(0, 1 / prior_precision)`.

    Inputs `x` and targets `y` have shape `[N]`.
    """

    inputs: Values
    targets: Values
    noise_precision: float
    prior_precision: float

    @property
    def prior(self) -> Normal:
        return Normal(0.0, self.prior_precision**-0.5)

    @property
    def posterior(self) -> Normal:
        """The exact posterior of the weight."""
        precision = self.prior_precision + self.noise_precision * self.inputs @ self.inputs
        mean = self.noise_precision * self.inputs @ self.targets / precision
        return Normal(float(mean), float(precision**-0.5))

    def elbo(self, rows: NDArray[np.intp] | None = None) -> Quadratic:
        """Return the objective whose expectation under q is the ELBO (eq. 3.7).

        With the row numbers of minibatches, `[..., B]`, their log-likelihoods are scaled to all N
        rows and the coefficients have shape `[...]`.
        """
        count, precision = len(self.targets), self.noise_precision
        chosen = slice(None) if rows is None else rows
        x, y = self.inputs[chosen], self.targets[chosen]
        scaled = precision * count / x.shape[-1]
        xx, xy, yy = (scaled * (a * b).sum(-1) for a, b in ((x, x), (x, y), (y, y)))
        log_scales = 0.5 * (count * math.log(precision) + math.log(self.prior_precision))
        constant = log_scales - (count + 1) * HALF_LOG_TWO_PI
        return Quadratic(constant - 0.5 * yy, xy, -0.5 * (xx + self.prior_precision), entropy=True)


def kl(q: Normal, p: Normal) -> Numbers:
    """Return KL(q || p) in nats."""
    ratio, distance = q.scale / p.scale, (q.loc - p.loc) / p.scale
    return 0.5 * (ratio**2 + distance**2 - 1) - np.log(ratio)
