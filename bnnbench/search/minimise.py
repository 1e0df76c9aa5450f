"""Minimisation of smooth functions of a few variables within bounds, with portable rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[float, Array]]
"""Returns the value and the gradient at a point."""

MAX_ITERATIONS = 60
MAX_STEP = 2.0  # largest change of a variable in an iteration
MIN_DECREASE = 1e-7  # of the value in an iteration, else it ends
MIN_SLOPE = 1e-5
SUFFICIENT, SHRINKAGE, MIN_FRACTION = 1e-4, 0.4, 1e-8  # of the line search


def minimise(function: Function, start: Array, bounds: Array) -> tuple[Array, float]:
    """Return a local minimum and its value, by projected BFGS (Bertsekas 1982) from one start.

    scipy's L-BFGS-B calls BLAS, whose rounding depends on the processor, and its TNC does not
    repeat. This one uses single operations and numpy's sums only.

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
    return (matrix * vector).sum(1)
