"""Gradients of stacked networks and their means over weight samples, for tensors on the CPU."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.cpp.tensors import available
from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.likelihoods.heteroscedastic import Heteroscedastic
from bnnbench.losses.nll import NLL
from bnnbench.nn import MLP


def covers(likelihood: Likelihood, like: Tensor) -> bool:
    """Whether there is native code for the likelihood with its loss, and for such tensors."""
    known = type(likelihood) in (Gaussian, Heteroscedastic) and type(likelihood.loss) is NLL
    return known and available(like)


def moments(
    mlp: MLP,
    loc: Tensor,
    scale: Tensor | None,
    noise: Tensor | None,
    data: tuple[Tensor, Tensor, Tensor],
    precision: Tensor | None,
    *,
    square: bool = False,
    cross: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Means over weight samples of the gradients of `sum_b weights[b] loss[b]`.

    The loss is the negative log-likelihood of a Gaussian: of the likelihood `Gaussian` for networks
    with one output, of `Heteroscedastic` for those with two.

    Args:
        mlp: the shape.
        loc: `[n, P]`, means of the weights of n networks; of R training sets, network k has
            `k % R`.
        scale: `[n, P]`, standard deviations; None evaluates `loc` itself.
        noise: `[S, n or 1, P]`, standard normal: the weights are `loc + scale * noise`.
        data: inputs `[R, B, D]`, targets `[R, B]` and weights `[R, B]` of the rows.
        precision: `[R, 1]`, of the noise; None where a second output says it.
        square: whether the mean of the squared gradients is wanted.
        cross: whether the mean of the gradients times the noise is wanted.

    Returns:
        The mean gradient, that of its square and that of its product with the noise, `[n, P]`
        each; None for what is not wanted.
    """
    code = library().code
    assert code is not None and mlp.sizes[-1] == (1 if precision is not None else 2)
    inputs, targets, weights = (one.contiguous() for one in data)
    sets, rows, _ = inputs.shape
    samples, shared = noise.shape[:2] if noise is not None else (1, 1)
    # Kept under names until the call is over, since it is given bare addresses.
    loc = loc.contiguous()
    spread = [None if one is None else one.contiguous() for one in (scale, noise)]
    precision = None if precision is None else precision.expand(sets, 1).contiguous()
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
