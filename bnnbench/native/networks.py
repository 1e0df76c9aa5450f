"""Outputs and gradients of stacked networks, for tensors on the CPU."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from bnnbench.cpp.library import has_native_code, library
from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.likelihoods.heteroscedastic import Heteroscedastic
from bnnbench.losses.nll import NLL
from bnnbench.nn import MLP


def predict_outputs(mlp: MLP, networks: Tensor, inputs: Tensor, outputs: Tensor) -> None:
    """Write the outputs of networks to `outputs`.

    Args:
        mlp: the network shape.
        networks: `[S, R, P]`, float32.
        inputs: `[R, M, D]`, float32.
        outputs: `[S, R, M, O]`, float32, contiguous.
    """
    code = library().code
    assert code is not None and outputs.is_contiguous()
    networks, inputs = networks.contiguous(), inputs.contiguous()
    samples, sets, _ = networks.shape
    code.evaluate(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1,
        samples, sets, inputs.shape[1],
        networks.data_ptr(), inputs.data_ptr(), outputs.data_ptr(),
    )  # fmt: skip


def has_native_gradients(likelihood: Likelihood, like: Tensor) -> bool:
    """Whether native code supports the likelihood, its loss and tensors like `like`."""
    known = type(likelihood) in (Gaussian, Heteroscedastic) and type(likelihood.loss) is NLL
    return known and has_native_code(like)


def gradient_moments(
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
    """Return means over weight samples of the gradients of `sum_b weights[b] loss[b]`.

    The loss is the negative log-likelihood: of the likelihood `Gaussian` for networks with one
    output, of `Heteroscedastic` for networks with two.

    Args:
        mlp: the network shape.
        loc: `[n, P]`, means of the weights of n networks; network k uses training set `k % R`.
        scale: `[n, P]`, standard deviations; None evaluates the gradient at `loc`.
        noise: `[S, n or 1, P]`, standard normal: the weights are `loc + scale * noise`.
        data: inputs `[R, B, D]`, targets `[R, B]` and row weights `[R, B]`.
        precision: `[R, 1]`, noise precision; None if a second output predicts it.
        square: whether to return the mean of the squared gradients.
        cross: whether to return the mean of the gradients times the noise.

    Returns:
        The means of the gradient, of its square and of its product with the noise, `[n, P]` each
        or None.
    """
    code = library().code
    assert code is not None and mlp.sizes[-1] == (1 if precision is not None else 2)
    inputs, targets, weights = (one.contiguous() for one in data)
    sets, rows, _ = inputs.shape
    samples, shared = noise.shape[:2] if noise is not None else (1, 1)
    # These variables keep the tensors alive during the call, which gets only their addresses.
    loc = loc.contiguous()
    spread = [None if one is None else one.contiguous() for one in (scale, noise)]
    precision = None if precision is None else precision.expand(sets, 1).contiguous()
    mean = torch.empty_like(loc)
    second, third = (torch.empty_like(mean) if needed else None for needed in (square, cross))
    code.gradient_moments(
        (ctypes.c_int64 * len(mlp.sizes))(*mlp.sizes), len(mlp.sizes) - 1,
        len(loc), sets, samples, shared, rows,
        *map(_address, (loc, *spread, inputs, targets, weights, precision, mean, second, third)),
    )  # fmt: skip
    return mean, second, third


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()
