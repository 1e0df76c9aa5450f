"""Gradients of a minibatch's loss for stacked networks.

Computed by native code if it supports the likelihood and the tensors, otherwise by torch. Both give
the same result up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from bnnbench.likelihoods import Likelihood
from bnnbench.methods.shared.minibatches import Batch
from bnnbench.native import networks as native
from bnnbench.nn import MLP, backward, forward
from bnnbench.types import Hyper

Pair = tuple[Tensor, Tensor]


def _is_native(likelihood: Likelihood, weights: Tensor, batch: Batch) -> bool:
    """Whether native code supports the tensors; it does not repeat weights for several replicas."""
    stacked = weights.shape[-2] == len(batch.inputs)
    return stacked and native.has_native_gradients(likelihood, weights)


class WeightSamples(NamedTuple):
    """S weight vectors of each of R networks, `loc + scale * noise`.

    Attributes:
        loc: `[R, P]`.
        scale: `[R, P]`.
        noise: `[S, R or 1, P]`, standard normal.
    """

    loc: Tensor
    scale: Tensor
    noise: Tensor


def gradients(
    mlp: MLP, likelihood: Likelihood, weights: Tensor, hyper: Hyper, batch: Batch
) -> Tensor:
    """Return the gradient of the minibatch's mean loss for every network.

    Args:
        mlp: shape of the networks.
        likelihood: with its loss.
        weights: `[S, R, P]`.
        hyper: `[R, 1]` each.
        batch: the minibatch.

    Returns:
        `[S, R, P]`.
    """
    if _is_native(likelihood, weights, batch):
        flat = weights.flatten(0, 1)
        mean, _, _ = native.gradient_moments(mlp, likelihood, flat, None, None, batch[:3], hyper)
        return mean.view_as(weights)
    outputs, tape = forward(mlp, weights, batch.inputs)
    return backward(tape, likelihood.gradient(outputs, batch.targets, batch.weights, hyper))


def mean_and_square(
    mlp: MLP, likelihood: Likelihood, weights: WeightSamples, hyper: Hyper, batch: Batch
) -> Pair:
    """Return the means over samples of the gradient and of its square, `[R, P]` each."""
    if _is_native(likelihood, weights.loc, batch):
        mean, square, _ = native.gradient_moments(
            mlp, likelihood, *weights, batch[:3], hyper, square=True
        )
        assert square is not None
        return mean, square
    samples = gradients(mlp, likelihood, torch.addcmul(*weights), hyper, batch)
    return samples.mean(0), samples.square_().mean(0)


def mean_and_cross(
    mlp: MLP, likelihood: Likelihood, weights: WeightSamples, hyper: Hyper, batch: Batch
) -> Pair:
    """Return the means over samples of the gradient and of its product with the noise.

    These are the gradients of the expected loss with respect to `loc` and `scale`, `[R, P]` each.
    """
    if _is_native(likelihood, weights.loc, batch):
        mean, _, cross = native.gradient_moments(
            mlp, likelihood, *weights, batch[:3], hyper, cross=True
        )
        assert cross is not None
        return mean, cross
    samples = gradients(mlp, likelihood, torch.addcmul(*weights), hyper, batch)
    return samples.mean(0), (samples * weights.noise).mean(0)
