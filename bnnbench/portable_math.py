"""Functions of float64 arrays whose bits do not depend on the processor.

The exponentials of numpy, torch and the C library differ between instruction sets by rounding, and
so do sums, whose order follows the width of vector registers. The functions below consist of single
operations, which every processor rounds in the same way. They run in native code, if it is
available, with the same result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bnnbench.cpp.library import library

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

Array = NDArray[np.float64]


@contextmanager
def numpy_defaults() -> Iterator[None]:
    """Handle errors and write numbers as numpy does by default, whatever the caller has set.

    Decorates entry points.
    """
    errors = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
    with errors, np.printoptions(legacy=False):
        yield


MAGIC = 6755399441055744.0  # 1.5 * 2^52; adding it rounds to a whole number
LOG2_HIGH, LOG2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
EXP_COEFFICIENTS = [1 / math.factorial(k) for k in range(13, -1, -1)]
LOG_COEFFICIENTS = [1 / k for k in range(23, 1, -2)]
ERFC_COEFFICIENTS = [
    1.6403183696752708e-09, -6.984021100158542e-09, -1.673812797437216e-08,
    9.290772873032215e-08, 7.202517584836005e-08, -8.019174684327191e-07,
    2.968409172531307e-07, 5.6894090899650724e-06, -1.1224122281497544e-05,
    -2.4387691264306046e-05, 0.00015062257137043143, -0.0001992610018544279,
    -0.0007577735257382458, 0.005031971017234254, -0.016197734020451597,
    0.03716751538360477, -0.06633036581541651, 0.0937328350110569, -0.10103906603618064,
    0.06809705425420673, 0.015379652102618402, -0.139621116840557, 1.2329951186255526,
]  # fmt: skip


def exp(x: Array) -> Array:
    """Return `exp(x)`, to a few units in the last place; 0 below -708."""
    x = np.ascontiguousarray(x, dtype=np.float64)
    if library().code is not None:
        return _native("exponentials", x)
    near = np.maximum(np.minimum(x, 709.0), -708.0)
    shifted = near * 1.44269504088896340736 + MAGIC
    k = shifted - MAGIC
    r = (near - k * LOG2_HIGH) - k * LOG2_LOW
    power = ((np.asarray(shifted).view(np.int64) + 1023) << 52).view(np.float64)
    value = _polynomial(EXP_COEFFICIENTS, r) * power
    return np.where(x > 709, np.inf, np.where(x < -708, 0.0, value))


def log(x: Array) -> Array:
    """Return `log(x)`, to a few units in the last place; -inf at 0 and NaN below."""
    x = np.ascontiguousarray(x, dtype=np.float64)
    if library().code is not None:
        return _native("logarithms", x)
    bits = x.view(np.int64)
    k = (bits - 0x3FE6A09E667F3BCD) >> 52
    with np.errstate(all="ignore"):
        f = (bits - (k << 52)).view(np.float64) - 1
        z = f / (2 + f)
        y = z * z
        rest = 2 * z * (y * _polynomial(LOG_COEFFICIENTS, y)) + 2 * z
        value = k * LOG2_HIGH + (k * LOG2_LOW + rest)
    usual = np.where(x < np.inf, value, x)
    return np.where(x > 0, usual, np.where(x == 0, -np.inf, np.nan))


def tensor_exp(x: Tensor) -> Tensor:
    """Return `exp(x)`; by torch on a GPU, and where gradients are needed."""
    import torch

    if x.device.type != "cpu" or x.requires_grad:
        return x.exp()
    return torch.from_numpy(exp(x.double().numpy())).to(x.dtype)


def softplus(x: Tensor) -> Tensor:
    """Return `log(1 + exp(x))`; by torch on a GPU, and where gradients are needed."""
    import torch

    if x.device.type != "cpu" or x.requires_grad:
        return torch.nn.functional.softplus(x)
    power = exp(np.minimum(x.double().numpy(), 700.0))
    u = 1 + power
    with np.errstate(all="ignore"):
        value = np.where(u == 1, power, log(u) * (power / (u - 1)))  # Kahan's log1p
    return torch.from_numpy(value).to(x.dtype)


def mean_distance(mean: Array, variance: Array) -> Array:
    """Return the expectation of `|X|` for `X ~ Normal(mean, variance)`."""
    scale, far = np.sqrt(variance), np.abs(mean)
    x = far / scale
    gauss = exp(-0.5 * (x * x))
    return far + gauss * (2 * 0.39894228040143267794 * scale - far * _scaled_erfc(x))


def normal_cdf(x: Array) -> Array:
    """Return the standard normal distribution function, elementwise."""
    far = np.abs(x)
    tail = 0.5 * exp(-0.5 * (far * far)) * _scaled_erfc(far)
    return np.where(x > 0, 1 - tail, tail)


def _scaled_erfc(x: Array) -> Array:
    """Return `exp(x^2 / 2) erfc(x / sqrt(2))` for `x >= 0`."""
    z = x * math.sqrt(0.5)
    return _polynomial(ERFC_COEFFICIENTS, 1 - 8 / (z + 4)) / (1 + 2 * z)


def log_density(loc: Array, variance: Array, targets: Array) -> Array:
    """Return `log Normal(targets; loc, variance)`, elementwise."""
    error = targets - loc
    return -0.5 * (error * error / variance + log(2 * math.pi * variance))


def mixture_crps(loc: Array, variance: Array, targets: Array) -> Array:
    """Return the continuous ranked probability scores of Gaussian mixtures, `[M]`.

    The mean distance of a component from the target, minus half that of two components (Grimit et
    al. 2006).

    Args:
        loc: means of the components, `[S, M]`.
        variance: their variances, `[S, M]`.
        targets: `[M]`.
    """
    code, samples = library().code, len(loc)
    arrays = [np.ascontiguousarray(a, dtype=np.float64) for a in (loc, variance, targets)]
    if code is not None:
        out = np.empty(len(targets))
        code.mixture_crps(samples, len(out), *(a.ctypes.data for a in (*arrays, out)))
        return out
    loc, variance, targets = arrays
    near, apart = np.zeros(len(targets)), np.zeros(len(targets))
    for i in range(samples):
        near += mean_distance(targets - loc[i], variance[i])
        itself = 0.5 * mean_distance(np.zeros_like(targets), variance[i] + variance[i])
        pairs = mean_distance(loc[i] - loc[i + 1 :], variance[i] + variance[i + 1 :])
        apart += ordered_sum(itself, *pairs)
    return near / samples - apart / (float(samples) * samples)


def matmul(a: Array, b: Array) -> Array:
    """Return the product of matrices `[N, K]` and `[K, M]`, summed in the order of K."""
    code = library().code
    a, b = (np.ascontiguousarray(one, dtype=np.float64) for one in (a, b))
    if code is None:
        return ordered_sum(np.zeros((len(a), b.shape[1])), *(a.T[:, :, None] * b[:, None]))
    out = np.empty((len(a), b.shape[1]))
    shape = (*a.shape, b.shape[1])
    code.ordered_product(*shape, *(one.ctypes.data for one in (a, b, out)))
    return out


def invert(matrix: Array) -> tuple[Array, Array] | None:
    """Return the inverse of a symmetric `[N, N]` matrix, and its Cholesky factor's diagonal `[N]`.

    Returns:
        None if the matrix is not positive definite.
    """
    code, n = library().code, len(matrix)
    if code is not None:
        matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        inverse, diagonal = np.empty((n, n)), np.empty(n)
        arrays = (matrix, inverse, diagonal)
        failed = code.invert_positive(n, *(one.ctypes.data for one in arrays))
        return None if failed else (inverse, diagonal)
    left, roots, diagonal = matrix.astype(np.float64), np.eye(n), np.empty(n)
    for k in range(n):
        if not left[k, k] > 0:
            return None
        diagonal[k] = math.sqrt(left[k, k])
        roots[k] /= diagonal[k]
        column = left[k + 1 :, k] / diagonal[k]
        left[k + 1 :, k + 1 :] -= column[:, None] * column
        roots[k + 1 :] -= column[:, None] * roots[k]
    return ordered_sum(np.zeros((n, n)), *(roots[:, :, None] * roots[:, None])), diagonal


def ordered_sum(first: Array, *others: Array) -> Array:
    """Add arrays of the same shape, one after the other."""
    total = first.copy()
    for term in others:
        total += term
    return total


def _native(function: str, x: Array) -> Array:
    out = np.empty_like(x)
    getattr(library().code, function)(x.size, x.ctypes.data, out.ctypes.data)
    return out


def _polynomial(coefficients: list[float], x: Array) -> Array:
    value = coefficients[0] * x + coefficients[1]
    for coefficient in coefficients[2:]:
        value = value * x + coefficient
    return value


def total_deviation(points: pd.DataFrame | Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the total predictive standard deviation of each point."""
    return np.asarray(np.sqrt(points["epistemic_variance"] + points["noise_variance"]))
