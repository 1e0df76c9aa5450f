"""Gaussian moments through a linear layer and a rectifier, each with its derivatives.

Book, section 4.4.3.1. The derivatives are written out: they cost a few products where autograd
would record and replay some forty small operations for every data point.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

Moments = tuple[Tensor, Tensor]
"""Means and variances, or what they are differentiated by: two tensors of one shape."""


class Rectified(NamedTuple):
    """Moments of `max(a, 0)`, `a ~ Normal(loc, scale^2)`, and what their derivatives need.

    Attributes:
        mean: eq. 4.44.
        variance: eq. 4.45.
        above: probability that `a > 0`.
        below: probability that `a < 0`.
        at_zero: density of `a` at 0.
    """

    mean: Tensor
    variance: Tensor
    above: Tensor
    below: Tensor
    at_zero: Tensor


def rectify(loc: Tensor, variance: Tensor) -> Rectified:
    """Moments of a rectified Gaussian (eqs. 4.44 and 4.45), any shape.

    Both tails come from one scaled complementary error function, so that `phi / Phi` keeps its
    digits where `phi` and `Phi` have underflowed, far below zero.
    """
    scale = variance.sqrt()
    alpha = loc / scale
    x = alpha.abs() * math.sqrt(0.5)
    scaled, gauss = torch.special.erfcx(x), torch.exp(-x * x)
    tail, density = 0.5 * scaled * gauss, gauss / math.sqrt(2 * math.pi)
    positive = alpha > 0
    above = torch.where(positive, 1 - tail, tail)
    below = torch.where(positive, tail, 1 - tail)
    ratio = torch.where(positive, density / above, math.sqrt(2 / math.pi) / scaled)
    excess = ratio + alpha  # mean of a / scale, given that it is positive
    mean = scale * above * excess
    spread = mean * scale * excess * below + above * variance * (1 - ratio * excess)
    return Rectified(mean, spread, above, below, density / scale)


def rectify_back(out: Rectified, d: Moments) -> Moments:
    """From derivatives by the rectified moments to derivatives by the Gaussian's.

    The identities `dE[f]/dloc = E[f']` and `dE[f]/dvariance = E[f''] / 2` (eqs. 4.9 and 4.10)
    for the first two powers of `max(a, 0)` leave nothing that cancels in the tails.
    """
    d_mean, d_variance = d
    return (
        out.above * d_mean + 2 * out.mean * out.below * d_variance,
        out.at_zero * (0.5 * d_mean - out.mean * d_variance) + out.above * d_variance,
    )


def linear(inputs: Moments, weights: Moments) -> Moments:
    """Moments of `z W / sqrt(I)` (eqs. 4.41 and 4.42).

    Args:
        inputs: `[R, B, I]` each, the always-one unit included.
        weights: `[R, I, O]` each, the bias a row.

    Returns:
        `[R, B, O]` each.
    """
    (z, z_var), (w, w_var) = inputs, weights
    units = z.shape[-1]
    mean = _product(z, w) / math.sqrt(units)
    return mean, (_product(z * z + z_var, w_var) + _product(z_var, w * w)) / units


def linear_back(inputs: Moments, weights: Moments, d: Moments) -> Moments:
    """From derivatives by the moments of `linear` (`[R, B, O]`) to those by its inputs'."""
    (z, _), (w, w_var) = inputs, weights
    units = z.shape[-1]
    d_mean, d_variance = d[0] / math.sqrt(units), d[1] / units
    shared = _product(d_variance, w_var.mT)
    return (
        _product(d_mean, w.mT) + 2 * z * shared,
        shared + _product(d_variance, (w * w).mT),
    )


def linear_weights(inputs: Moments, weights: Moments, d: Moments) -> Moments:
    """Derivatives by the weights' moments, one for each row: `[R, B, I, O]` each."""
    z, z_var = (moment.unsqueeze(3) for moment in inputs)
    w = weights[0].unsqueeze(1)
    units = z.shape[2]
    d_mean = d[0].unsqueeze(2) / math.sqrt(units)
    d_variance = d[1].unsqueeze(2) / units
    return z * d_mean + 2 * w * (z_var * d_variance), (z * z + z_var) * d_variance


def _product(rows: Tensor, matrix: Tensor) -> Tensor:
    """`rows @ matrix`, `[R, B, I] x [R, I, O]`."""
    if rows.shape[1] > 1:
        return rows @ matrix
    # A matrix-vector product is a sum that the compiler fuses with what comes before and after.
    return (rows.mT * matrix).sum(1, keepdim=True)
