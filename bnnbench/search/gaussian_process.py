"""A fast Gaussian process for scikit-optimize.

The same model as `skopt.learning.GaussianProcessRegressor` with a constant times a Matern 5/2
kernel, Gaussian noise and standardised targets (Rasmussen and Williams, "Gaussian Processes for
Machine Learning", 2006, Algorithm 2.1 and eq. 5.9). With about thirty points, that class spends
nearly all of its time on checks and copies of kernel objects. Here, sums have a fixed order
(`portable_math`), so that suggestions do not depend on the processor. The numpy code is the
reference; native code, if it is available, gives the same bits in a fraction of the time.

The marginal likelihood is maximised by projected BFGS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bnnbench.cpp.library import library
from bnnbench.portable_math import Array, exp, invert, log, matmul

Function = Callable[[Array], tuple[float, Array]]
"""Returns the value and the gradient at a point."""

MAX_ITERATIONS = 60
MAX_STEP = 2.0  # largest change of a variable in an iteration
MIN_DECREASE = 1e-7  # of the value in an iteration; the search ends below it
MIN_SLOPE = 1e-5
SUFFICIENT, SHRINKAGE, MIN_FRACTION = 1e-4, 0.4, 1e-8  # constants of the line search


def minimise(function: Function, start: Array, bounds: Array) -> tuple[Array, float]:
    """Return a local minimum and its value, by projected BFGS (Bertsekas 1982) from one start.

    scipy's L-BFGS-B calls BLAS, whose rounding depends on the processor. This function uses single
    operations and numpy's sums only.

    Args:
        function: to minimise.
        start: `[D]`, within the bounds.
        bounds: `[D, 2]`.
    """
    low, high = bounds.T
    here, (value, slope), inverse = start, function(start), np.eye(len(start))
    for _ in range(MAX_ITERATIONS):
        free = ~((here <= low) & (slope > 0) | (here >= high) & (slope < 0))
        if not (np.abs(slope[free]) > MIN_SLOPE).any():
            break
        direction = -_product(np.where(free[:, None] & free, inverse, 0.0), slope)
        if not (direction * slope).sum() < 0:
            inverse, direction = np.eye(len(start)), np.where(free, -slope, 0.0)
        there, found, of_found = _search(function, here, value, slope, direction, bounds)
        inverse = _updated(inverse, there - here, of_found - slope)
        decrease = value - found
        here, value, slope = there, found, of_found
        if not decrease > MIN_DECREASE:
            break
    return here, value


def _search(
    function: Function, here: Array, value: float, slope: Array, direction: Array, bounds: Array
) -> tuple[Array, float, Array]:
    """Return the first point along the projected direction that decreases the value enough."""
    fraction = min(1.0, MAX_STEP / float(np.abs(direction).max()))
    while True:
        there = np.clip(here + fraction * direction, *bounds.T)
        found, of_found = function(there)
        expected = float((slope * (there - here)).sum())
        if found <= value + SUFFICIENT * expected:
            return there, found, of_found
        if fraction < MIN_FRACTION:
            return here, value, slope
        fraction *= SHRINKAGE


def _updated(inverse: Array, step: Array, change: Array) -> Array:
    """Return the inverse Hessian after a BFGS update, unless the curvature is not positive."""
    curvature = float((step * change).sum())
    if not curvature > 1e-12:
        return inverse
    shaped = _product(inverse, change)
    both = step[:, None] * shaped
    scale = (1 + float((change * shaped).sum()) / curvature) / curvature
    return inverse + scale * (step[:, None] * step) - (both + both.T) / curvature


def _product(matrix: Array, vector: Array) -> Array:
    product: Array = (matrix * vector).sum(1)
    return product


AMPLITUDES = (1e-2, 1e3)
NOISES = (1e-5, 1e5)
JITTER = 1e-10
"""Bounds of amplitude and noise, and the jitter, as in scikit-optimize; standardised targets."""

ROOT5, LOG_2PI = 5**0.5, 1.8378770664093453


@dataclass(frozen=True)
class Matern:
    """`amplitude` times a Matern 5/2 kernel with a length scale per input.

    Attributes:
        amplitude: variance of the function.
        length_scales: `[D]`.
    """

    amplitude: float
    length_scales: Array

    def between(self, inputs: Array, others: Array) -> Array:
        """Return the covariances `[N, M]` of two sets of points, `[N, D]` and `[M, D]`."""
        steps = inputs[:, None] / self.length_scales - others / self.length_scales
        root: Array = ROOT5 * np.sqrt((steps * steps).sum(-1))
        return self.amplitude * (1 + root + root**2 / 3) * exp(-root)


def negative_log_likelihood(theta: Array, squares: Array, targets: Array) -> tuple[float, Array]:
    """Return the negative log marginal likelihood of a zero-mean process, and its gradient.

    Args:
        theta: logarithms of amplitude, length scales and noise variance, `[D + 2]`.
        squares: squared differences of the inputs by dimension, `[D, N, N]`.
        targets: `[N]`.

    Returns:
        The value in nats, infinite if the covariance is not positive definite, and the gradient
        `[D + 2]`.
    """
    code = library().code
    if code is None:
        return _likelihood(theta, squares, targets)
    out = np.empty(len(theta) + 1)
    arrays = [np.ascontiguousarray(one, dtype=np.float64) for one in (theta, squares, targets)]
    addresses = [one.ctypes.data for one in (*arrays, out)]
    code.marginal_likelihood(len(targets), len(squares), JITTER, *addresses)
    return float(out[0]), out[1:]


def _likelihood(theta: Array, squares: Array, targets: Array) -> tuple[float, Array]:
    amplitude, *inverse_squares, noise = exp(np.array([1, *[-2] * len(squares), 1]) * theta)
    n = len(targets)
    weighted = [scale * square for scale, square in zip(inverse_squares, squares, strict=True)]
    root = ROOT5 * np.sqrt(sum(weighted))
    decay = exp(-root)
    signal = amplitude * (1 + root + root**2 / 3) * decay
    solution = invert(signal + (noise + JITTER) * np.eye(n))
    if solution is None:
        return np.inf, np.zeros_like(theta)
    inverse, diagonal = solution
    weights = matmul(inverse, targets[:, None])
    value = 0.5 * (targets * weights[:, 0]).sum() + log(diagonal).sum() + 0.5 * n * LOG_2PI
    inner = 0.5 * (inverse - weights * weights.T)
    by_scale = inner * (5 / 3 * amplitude * (1 + root) * decay)
    slopes = [(inner * signal).sum(), *((by_scale * one).sum() for one in weighted)]
    return float(value), np.array([*slopes, noise * inner.diagonal().sum()])


class MaternProcess:
    """A model for the acquisition functions of scikit-optimize.

    Attributes:
        length_scales: bounds of every length scale; the optimisation starts at 1.
    """

    def __init__(self, length_scales: tuple[float, float] = (0.05, 2.0)) -> None:
        self.length_scales = length_scales

    def fit(self, inputs: Any, targets: Any) -> Self:
        """Maximise the marginal likelihood of inputs `[N, D]` and targets `[N]`."""
        self.inputs_ = np.asarray(inputs, float)
        targets = np.asarray(targets, float)
        self.mean_, std = targets.mean(), targets.std()
        self.std_ = std if std > 10 * np.finfo(float).eps else 1.0  # all targets may be equal
        standardised = (targets - self.mean_) / self.std_
        squares = np.array([(x[:, None] - x) ** 2 for x in self.inputs_.T])
        bounds = np.log([AMPLITUDES, *([self.length_scales] * len(squares)), NOISES])
        start = np.clip(np.zeros(len(bounds)), *bounds.T)
        optimum, value = minimise(
            lambda theta: negative_log_likelihood(theta, squares, standardised), start, bounds
        )
        self.log_likelihood_, theta = -value, exp(optimum)
        self.kernel_, self.noise_ = Matern(theta[0], theta[1:-1]), theta[-1]
        covariance = self.kernel_.between(self.inputs_, self.inputs_)
        covariance += (self.noise_ + JITTER) * np.eye(len(targets))
        solution = invert(covariance)
        assert solution is not None, "the likelihood is finite at its maximum"
        self.inverse_ = solution[0]
        self.weights_ = matmul(self.inverse_, standardised[:, None])
        return self

    def predict(self, inputs: Any, return_std: bool = False) -> Any:
        """Return the mean of the function, without noise, as the acquisitions of skopt need it.

        Args:
            inputs: points `[M, D]`.
            return_std: whether to return the standard deviation `[M]` too.
        """
        mean, variance = self._posterior(np.asarray(inputs, float))
        mean = self.mean_ + self.std_ * mean
        if not return_std:
            return mean
        return mean, self.std_ * np.sqrt(np.maximum(variance, 0.0))

    def _posterior(self, points: Array) -> tuple[Array, Array]:
        """Return the mean and the variance `[M]` of the standardised function."""
        code, (count, dimensions) = library().code, points.shape
        if code is None:
            across = self.kernel_.between(points, self.inputs_)
            explained = (matmul(across, self.inverse_) * across).sum(1)
            return matmul(across, self.weights_)[:, 0], self.kernel_.amplitude - explained
        mean, variance = np.empty(count), np.empty(count)
        scaled = [
            np.ascontiguousarray(a / self.kernel_.length_scales) for a in (points, self.inputs_)
        ]
        arrays = (*scaled, self.inverse_, self.weights_, mean, variance)
        addresses = [one.ctypes.data for one in arrays]
        shape = count, len(self.inputs_), dimensions
        code.posterior(*shape, self.kernel_.amplitude, *addresses)
        return mean, variance
