"""Propagation of Gaussian moments through a network, their derivatives, and moment matching.

Book, section 4.4. The derivatives are written by hand: autograd would record about forty small
operations for every data point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from bnnbench.methods.shared.chunking import rows_per_chunk
from bnnbench.nn import MLP

Moments = tuple[Tensor, Tensor]
"""Means and variances, or derivatives with respect to them: two tensors of the same shape."""
Inputs = tuple[Tensor, Tensor | None]
"""Means and variances of a layer's inputs `[R, B, I]`; the variance of data is None."""
Layer = tuple[Moments, Moments]
"""Moments of the weights `[R, I, O]` and of the biases `[R, 1, O]`."""
Weights = Sequence[Layer]
LinearMoments = Callable[[Inputs, Layer], Moments]
Gamma = tuple[Tensor, Tensor]
"""Shape and rate of a Gamma distribution over a precision."""


class Rectified(NamedTuple):
    """Moments of `max(a, 0)`, `a ~ Normal(loc, scale^2)`, and terms of their derivatives.

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
    """Return the moments of a rectified Gaussian (eqs. 4.44 and 4.45), any shape.

    Both tails use the scaled complementary error function, so that `phi / Phi` stays accurate far
    below zero, where `phi` and `Phi` underflow.
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
    excess = ratio + alpha  # mean of a / scale, given a > 0
    mean = scale * above * excess
    spread = mean * scale * excess * below + above * variance * (1 - ratio * excess)
    return Rectified(mean, spread, above, below, density / scale)


def rectify_back(out: Rectified, d: Moments) -> Moments:
    """Backpropagate derivatives from the rectified moments to the Gaussian's moments.

    Uses the identities `dE[f]/dloc = E[f']` and `dE[f]/dvariance = E[f''] / 2` (eqs. 4.9 and 4.10)
    for the first two powers of `max(a, 0)`, which avoid cancellation in the tails.
    """
    d_mean, d_variance = d
    return (
        out.above * d_mean + 2 * out.mean * out.below * d_variance,
        out.at_zero * (0.5 * d_mean - out.mean * d_variance) + out.above * d_variance,
    )


def layers_of(mlp: MLP, moments: Moments) -> Weights:
    """Split flat moments of the weights, `[R, P]` each, into layers, in the order of `MLP`."""
    sizes = list(pairwise(mlp.sizes))
    lengths = [length for fan_in, fan_out in sizes for length in (fan_in * fan_out, fan_out)]
    pieces = list(zip(*(torch.split(moment, lengths, 1) for moment in moments), strict=True))
    shaped = [
        tuple(moment.unflatten(1, (-1, sizes[k // 2][1])).contiguous() for moment in piece)
        for k, piece in enumerate(pieces)
    ]
    return tuple(zip(shaped[::2], shaped[1::2], strict=True))


def pack(weights: Weights) -> dict[str, Tensor]:
    """Return the flat moments `loc` and `var` of all weights, `[R, P]`; inverts `layers_of`."""
    parts = [part for layer in weights for part in layer]
    loc, var = (
        torch.cat([m.flatten(1) for m in moments], 1) for moments in zip(*parts, strict=True)
    )
    return {"loc": loc, "var": var}


def linear(inputs: Inputs, layer: Layer) -> Moments:
    """Return the moments of `z W + b` for independent z, W and b, `[R, B, O]` each.

    Args:
        inputs: `[R, B, I]`.
        layer: `[R, I, O]` and the bias `[R, 1, O]`.
    """
    z, z_var = inputs
    (w, w_var), (bias, bias_var) = layer
    if z_var is None:
        return z @ w + bias, z.square() @ w_var + bias_var
    return z @ w + bias, (z.square() + z_var) @ w_var + z_var @ w.square() + bias_var


def linear_back(inputs: Inputs, layer: Layer, d: Moments) -> Moments:
    """Backpropagate derivatives from the outputs of `linear` (`[R, B, O]`) to its inputs."""
    (w, w_var), (d_mean, d_variance) = layer[0], d
    shared = d_variance @ w_var.mT
    return d_mean @ w.mT + 2 * inputs[0] * shared, shared + d_variance @ w.square().mT


def forward(
    weights: Weights, inputs: Tensor, linear: LinearMoments = linear
) -> tuple[Moments, list[Inputs], list[Rectified]]:
    """Propagate Gaussian moments through the network.

    Args:
        weights: the layers.
        inputs: `[R, B, D]`.
        linear: returns the moments of the outputs of a layer.

    Returns:
        Moments of the output, `[R, B]` each; the input moments of every layer; and the rectified
        moments of every hidden layer.
    """
    tape: list[Inputs] = [(inputs, None)]
    rectified = []
    for layer in weights[:-1]:
        rectified.append(rectify(*linear(tape[-1], layer)))
        tape.append((rectified[-1].mean, rectified[-1].variance))
    loc, variance = linear(tape[-1], weights[-1])
    return (loc.squeeze(2), variance.squeeze(2)), tape, rectified


def output_moments(mlp: MLP, inputs: Tensor, propagate: Callable[[Tensor], Moments]) -> Moments:
    """Return the moments of the outputs for inputs `[R, M, D]`, propagated in chunks of rows."""
    chunks = torch.split(inputs, rows_per_chunk(mlp, len(inputs)), 1)
    moments = zip(*map(propagate, chunks), strict=True)
    loc, variance = (torch.cat(moment, 1) for moment in moments)
    return loc, variance


def match_gaussian(weights: Moments, derivatives: Moments, real: Tensor) -> Moments:
    """Return the new moments of a layer's weights (eqs. 4.36 and 4.39).

    Skips the update of a weight whose variance would not be positive.

    Args:
        weights: `[R, I, O]` each.
        derivatives: of each row's log Z with respect to them, `[R, B, I, O]` each.
        real: `[R, B, 1, 1]`, False on padding.
    """
    loc, var = weights
    d_loc, d_var = derivatives
    curvature = d_loc * d_loc - 2 * d_var
    ratio = 1 - var.unsqueeze(1) * curvature  # new variance over old
    valid = real & (ratio > 0)
    if d_loc.shape[1] == 1:
        valid, ratio, d_loc = valid.squeeze(1), ratio.squeeze(1), d_loc.squeeze(1)
        return torch.where(valid, loc + var * d_loc, loc), torch.where(valid, var * ratio, var)
    precision = torch.where(valid, curvature / ratio, 0.0).sum(1)
    shift = torch.where(valid, (d_loc + loc.unsqueeze(1) * curvature) / ratio, 0.0).sum(1)
    growth = 1 + var * precision  # new precision over old
    valid = growth > 0
    return (
        torch.where(valid, (loc + var * shift) / growth, loc),
        torch.where(valid, var / growth, var),
    )


def match_gamma(gamma: Gamma, variance: Tensor, square: Tensor) -> Gamma:
    """Match a Gamma after a factor `Normal(error | 0, variance + 1 / precision)`.

    Uses eqs. 4.29 and 4.30 in logarithms, since `Z` can underflow; `beta` is `alpha` over the new
    mean. The approximation of `Z` can give a shape of at most 1, for which `E[1 / precision]` does
    not exist: such an update is skipped.

    Args:
        gamma: `alpha` and `beta`.
        variance: of the error, without the noise.
        square: squared error.
    """
    alpha, beta = gamma
    v0, v1, v2 = (variance + beta / (alpha - 1 + k) for k in range(3))
    first = 0.5 * (torch.log(v0 / v1) + square * (1 / v0 - 1 / v1))  # log Z1 - log Z0
    second = 0.5 * (torch.log(v1 / v2) + square * (1 / v1 - 1 / v2))
    new = 1 / torch.expm1(second - first + torch.log1p(1 / alpha))
    mean = torch.exp(first) * alpha / beta
    skip = new <= 1  # False for NaN, which must propagate
    return torch.where(skip, alpha, new), torch.where(skip, beta, new / mean)
