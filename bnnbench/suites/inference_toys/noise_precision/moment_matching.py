"""Including one likelihood factor and projecting back: sections 3.2.2.2 and 3.2.2.4.

ADF, EP, power EP and black-box alpha share this step. Everything works on stacks of beliefs, `[R]`,
each with an observation of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, polygamma

from bnnbench.suites.inference_toys.noise_precision.belief import LOG_TWO_PI, Array, Belief
from bnnbench.suites.inference_toys.noise_precision.tables import PRINTED

LEAST_SHAPE = 1.0
"""Below it the Student's t of (3.52) has no variance: cavities of less are passed over."""


class Tilted(NamedTuple):
    """What a belief times a factor comes to; every entry `[R]`.

    Attributes:
        log_normalisers: log K at the belief's shape, at shape + 1 and at shape + 2.
        slope_loc: derivative of log K by the mean of the weight.
        slope_variance: derivative of log K by the variance of the weight.
    """

    log_normalisers: tuple[Any, Any, Any]
    slope_loc: Any
    slope_variance: Any


Normaliser = Callable[[Belief, Array, Array], Tilted]
"""From a belief, inputs `[R]` and targets `[R]` to the factors' normalisers K."""


def gaussian_normaliser(belief: Belief, inputs: Array, targets: Array) -> Tilted:
    """K by (3.52): a Student's t replaced by the Gaussian of its mean and variance.

    `K = N(y | x loc, x**2 variance + rate / (shape - 1))`. The last line but one of (3.52) prints
    `x**2 + rate / (shape - 1)` and so loses the variance of the weight; its last line is right.
    """
    off = targets - inputs * belief.loc
    log_normalisers = []
    for more in range(3):
        spread = inputs**2 * belief.variance + belief.rate / (belief.shape + more - 1)
        log_normalisers.append(-0.5 * (LOG_TWO_PI + np.log(spread) + off**2 / spread))
    spread = inputs**2 * belief.variance + belief.rate / (belief.shape - 1)
    slope_variance = 0.5 * inputs**2 * (off**2 / spread - 1) / spread
    first, second, third = log_normalisers
    return Tilted((first, second, third), inputs * off / spread, slope_variance)


DEVIATIONS = np.arange(-28.0, 8.25, 0.25)
"""Points of the quadrature, in standard deviations of the logarithm of the noise precision about
its mean. A Gamma's logarithm has its long tail on the left: beyond these lies less than 1e-14 of
any of a shape above 1."""


@dataclass(frozen=True)
class QuadratureNormaliser:
    """K of the factors themselves, or of a power of them, by the trapezoid rule.

    Attributes:
        power: of the factors, a number or `[R]`: 1 is EP, `1 / n_i` of (3.66) power EP.
    """

    power: Any = 1.0

    def __call__(self, belief: Belief, inputs: Array, targets: Array) -> Tilted:
        """The normalisers and slopes of `N(y; w x, 1 / gamma)**power` under the belief."""
        x, off, variance, power, centre, step = (
            np.asarray(part)[..., None]
            for part in (
                inputs,
                targets - inputs * belief.loc,
                belief.variance,
                self.power,
                belief.mean_log,
                np.sqrt(polygamma(1, belief.shape)),
            )
        )
        points = centre + step * DEVIATIONS
        # A power of a Gaussian density is one of another variance, but for a constant.
        spread = x**2 * variance + np.exp(-points) / power
        constant = 0.5 * ((power - 1) * (points - LOG_TWO_PI) - np.log(power))
        factor = constant - 0.5 * (LOG_TWO_PI + np.log(spread) + off**2 / spread)
        masses = belief.log_density_of_log(points) + factor
        log_sum = logsumexp(masses, axis=-1)
        chance = np.exp(masses - log_sum[..., None])
        log_first = log_sum + np.log(points[..., 1] - points[..., 0])
        # (3.53) and (3.54): moments are ratios of normalisers.
        first, second = (np.log((chance * np.exp(k * points)).sum(-1)) for k in (1, 2))
        mean = np.log(belief.shape / belief.rate)
        square = np.log(belief.shape * (belief.shape + 1) / belief.rate**2)
        return Tilted(
            (log_first, log_first + first - mean, log_first + second - square),
            (chance * (x * off / spread)).sum(-1),
            (chance * (0.5 * x**2 * (off**2 / spread - 1) / spread)).sum(-1),
        )


def matched_shape(belief: Belief, log_normalisers: tuple[Any, Any, Any], reading: str) -> Any:
    """The shape of the Gamma with the tilted mean and variance, (3.56).

    `1 / (K_a K_{a+2} / K_{a+1}**2 (a + 1) / a - 1)` for shape `a`, from `E[gamma]**2 / Var(gamma)`
    by (3.53) and (3.54). Equation (3.56) prints `K_{a+1}` without its square, a number with the
    units of a density, which makes the shape negative or absurd; and (3.55), from which it comes,
    prints the second moment of (3.54) for the variance.
    """
    first, second, third = log_normalisers
    square = 1 if reading == PRINTED else 2
    ratio = np.exp(first + third - square * second) * (belief.shape + 1) / belief.shape
    return 1 / (ratio - 1)


def matched_rate(belief: Belief, log_normalisers: tuple[Any, Any, Any]) -> Any:
    """The rate of the Gamma with the tilted mean and variance, (3.57)."""
    first, second, third = log_normalisers
    square = np.exp(third - second) * (belief.shape + 1) / belief.rate
    mean = np.exp(second - first) * belief.shape / belief.rate
    return 1 / (square - mean)


def project(belief: Belief, tilted: Tilted, reading: str, with_weight: bool) -> Belief:
    """The belief with the tilted moments: `E[gamma]`, `E[gamma**2]`, `E[w]` and `E[w**2]`.

    The weight's follow from the slopes of log K, as for any Gaussian (Minka, "Expectation
    propagation for approximate Bayesian inference", 2001).

    Args:
        belief: before the factor came in.
        tilted: what a normaliser made of it.
        reading: of (3.56), `corrected` or `printed`.
        with_weight: whether the weight is matched too, or stays as it is.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # then it is refused
        shape = matched_shape(belief, tilted.log_normalisers, reading)
        rate = matched_rate(belief, tilted.log_normalisers)
    if not with_weight:
        return Belief(shape, rate, belief.loc, belief.variance)
    loc = belief.loc + belief.variance * tilted.slope_loc
    fall = tilted.slope_loc**2 - 2 * tilted.slope_variance
    return Belief(shape, rate, loc, belief.variance - belief.variance**2 * fall)


def admissible(belief: Belief) -> Any:
    """Whether a factor can be included into it, `[R]`: a proper belief of a shape above 1."""
    proper = (belief.rate > 0) & (belief.variance > 0) & np.isfinite(belief.variance)
    return proper & (belief.shape > LEAST_SHAPE)


def is_proper(belief: Belief) -> Any:
    """Whether it is a distribution, `[R]`."""
    finite = np.isfinite(belief.shape) & np.isfinite(belief.rate) & np.isfinite(belief.variance)
    return finite & (belief.shape > 0) & (belief.rate > 0) & (belief.variance > 0)
