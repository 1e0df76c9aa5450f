"""Gradients of stacked networks and their means over weight samples, for tensors on the CPU."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.losses.nll import NLL
from bnnbench.native.library import library
from bnnbench.nn import MLP


def covers(likelihood: Likelihood, like: Tensor) -> bool:
    """Whether there is native code for the likelihood with its loss, and for such tensors."""
    known = type(likelihood) is Gaussian and type(likelihood.loss) is NLL
    return known and available(like)


def available(like: Tensor) -> bool:
    """Whether there is native code for such tensors: float32 on the CPU."""
    if like.dtype != torch.float32 or like.device.type != "cpu":
        return False
    # What torch compiles holds all of a step, or it would be cut in two.
    return not torch.compiler.is_compiling() and library().code is not None


def moments(
    mlp: MLP,
    loc: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    data: tuple[Tensor, Tensor, Tensor],
    precision: Tensor,
    *,
    square: bool = False,
    cross: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Means over weight samples of a Gaussian negative log-likelihood's gradients.

    The loss of a network is `sum_b weights[b] precision (output[b] - target[b])^2 / 2`.

    Args:
        mlp: the shape, with one output.
        loc: `[n, P]`, means of the weights of n networks; of R training sets, network k has
            `k % R`.
        scale: `[n, P]`, standard deviations; None evaluates `loc` itself.
        noise: `[S, n or 1, P]`, standard normal: the weights are `loc + scale * noise`.
        data: inputs `[R, B, D]`, targets `[R, B]` and weights `[R, B]` of the rows.
        precision: `[R, 1]`, of the noise.
        square: whether the mean of the squared gradients is wanted.
        cross: whether the mean of the gradients times the noise is wanted.

    Returns:
        The mean gradient, that of its square and that of its product with the noise, `[n, P]`
        each; None for what is not wanted.
    """
    code = library().code
    assert code is not None and mlp.sizes[-1] == 1 and (noise is None) == (scale is None)
    inputs, targets, weights = (one.contiguous() for one in data)
    sets, rows, _ = inputs.shape
    samples, shared = noise.shape[:2] if noise is not None else (1, 1)
    # Kept under names until the call is over, since it is given bare addresses.
    loc, precision = loc.contiguous(), precision.expand(sets, 1).contiguous()
    spread = [None if one is None else one.contiguous() for one in (scale, noise)]
    mean = torch.empty_like(loc)
    second, third = (torch.empty_like(mean) if wanted else None for wanted in (square, cross))
    code.moments(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1,
        len(loc), sets, samples, shared, rows,
        *map(_address, (loc, *spread, inputs, targets, weights, precision, mean, second, third)),
    )  # fmt: skip
    return mean, second, third


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()
