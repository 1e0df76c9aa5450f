"""Inclusion of one likelihood factor and projection, sections 3.2.2.2 and 3.2.2.4.

ADF, EP, power EP and black-box alpha share this step. All functions work on stacks of beliefs,
`[R]`, each with its own observation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, polygamma

from bnnbench.suites.inference_toys.maths import LOG_TWO_PI, Array
from bnnbench.suites.inference_toys.noise_precision.families import Belief

DEVIATIONS = np.arange(-28.0, 8.25, 0.25)
"""Quadrature points in standard deviations of the log noise precision from its mean. The log of a
Gamma variable has its long tail on the left; for shapes above 1, less than 1e-14 is omitted.
"""


class Tilted(NamedTuple):
    """A belief times a factor; every entry is `[R]`.

    Attributes:
        log_normalisers: log K at the belief's shape, at shape + 1 and at shape + 2.
        slope_mean: derivative of log K with respect to the mean of the weight.
        slope_variance: derivative of log K with respect to the variance of the weight.
    """

    log_normalisers: tuple[Any, Any, Any]
    slope_mean: Any
    slope_variance: Any


def gaussian_normaliser(belief: Belief, inputs: Array, targets: Array) -> Tilted:
    """Return K by (3.52): a Student's t replaced by the Gaussian of its mean and variance.

    `K = N(y | x mean, x**2 variance + rate / (shape - 1))`. The second last line of (3.52) prints
    `x**2 + rate / (shape - 1)`, which omits the variance of the weight; its last line is correct.
    """
    residual = targets - inputs * belief.weight_mean
    variances = [
        inputs**2 * belief.variance + belief.rate / (belief.shape + increment - 1)
        for increment in range(3)
    ]
    first, second, third = (
        -0.5 * (LOG_TWO_PI + np.log(variance) + residual**2 / variance) for variance in variances
    )
    slope_variance = 0.5 * inputs**2 * (residual**2 / variances[0] - 1) / variances[0]
    return Tilted((first, second, third), inputs * residual / variances[0], slope_variance)


def quadrature_normaliser(
    belief: Belief, inputs: Array, targets: Array, power: Any = 1.0
) -> Tilted:
    """Return the normaliser K of `N(y; w x, 1 / gamma)**power` by the trapezoidal rule.

    The power, a number or `[R]`, is 1 for EP and `1 / n_i` of (3.66) for power EP.
    """
    x, residual, variance, power, mean_of_log, std_of_log = (
        np.asarray(part)[..., None]
        for part in (
            inputs,
            targets - inputs * belief.weight_mean,
            belief.variance,
            power,
            belief.mean_log,
            np.sqrt(polygamma(1, belief.shape)),
        )
    )
    points = mean_of_log + std_of_log * DEVIATIONS
    # A power of a Gaussian density is another Gaussian density times a constant.
    total_variance = x**2 * variance + np.exp(-points) / power
    constant = 0.5 * ((power - 1) * (points - LOG_TWO_PI) - np.log(power))
    squares = residual**2 / total_variance
    factor = constant - 0.5 * (LOG_TWO_PI + np.log(total_variance) + squares)
    log_masses = belief.log_density_of_log(points) + factor
    log_sum = logsumexp(log_masses, axis=-1)
    probability = np.exp(log_masses - log_sum[..., None])
    log_first = log_sum + np.log(points[..., 1] - points[..., 0])
    # (3.53) and (3.54): moments are ratios of normalisers.
    first, second = (np.log((probability * np.exp(k * points)).sum(-1)) for k in (1, 2))
    mean = np.log(belief.shape / belief.rate)
    square = np.log(belief.shape * (belief.shape + 1) / belief.rate**2)
    return Tilted(
        (log_first, log_first + first - mean, log_first + second - square),
        (probability * (x * residual / total_variance)).sum(-1),
        (probability * (0.5 * x**2 * (squares - 1) / total_variance)).sum(-1),
    )


def matched_shape(belief: Belief, tilted: Tilted, printed: bool = False) -> Any:
    """Return the shape of the Gamma with the tilted mean and variance, (3.56).

    `1 / (K_a K_{a+2} / K_{a+1}**2 (a + 1) / a - 1)` for shape `a`, from `E[gamma]**2 / Var(gamma)`
    by (3.53) and (3.54). Equation (3.56) prints `K_{a+1}` without its square, a number with the
    units of a density, which makes the shape negative or absurd; and (3.55), from which it is
    derived, prints the second moment of (3.54) instead of the variance.
    """
    first, second, third = tilted.log_normalisers
    exponent = 1 if printed else 2
    ratio = np.exp(first + third - exponent * second) * (belief.shape + 1) / belief.shape
    return 1 / (ratio - 1)


def matched_rate(belief: Belief, tilted: Tilted) -> Any:
    """Return the rate of the Gamma with the tilted mean and variance, (3.57)."""
    first, second, third = tilted.log_normalisers
    second_moment_ratio = np.exp(third - second) * (belief.shape + 1) / belief.rate
    mean = np.exp(second - first) * belief.shape / belief.rate
    return 1 / (second_moment_ratio - mean)


def project(belief: Belief, tilted: Tilted, printed: bool = False) -> Belief:
    """Return the belief with the tilted moments `E[gamma]`, `E[gamma**2]`, `E[w]` and `E[w**2]`.

    The moments of the weight follow from the derivatives of log K, as for any Gaussian (Minka,
    "Expectation propagation for approximate Bayesian inference", 2001).
    """
    # Overflows make the result improper, so the update is skipped.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        shape, rate = matched_shape(belief, tilted, printed), matched_rate(belief, tilted)
    mean = belief.weight_mean + belief.variance * tilted.slope_mean
    decrease = tilted.slope_mean**2 - 2 * tilted.slope_variance
    return Belief(shape, rate, mean, belief.variance - belief.variance**2 * decrease)
