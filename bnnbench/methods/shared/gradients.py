"""Gradients of a minibatch's loss for stacked networks, which every trained method builds on.

In torch, as the equations read, and by native code where there is some for the likelihood and the
tensors at hand. Both compute the same up to float32's rounding; a method does not see which did.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from bnnbench.likelihoods.base import Likelihood
from bnnbench.methods.shared.trainer import Batch
from bnnbench.native import moments as native
from bnnbench.nn import MLP, backward, forward
from bnnbench.types import Hyper

Pair = tuple[Tensor, Tensor]


class Draws(NamedTuple):
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
    """Of the minibatch's loss, one for every network.

    Args:
        mlp: the shape.
        likelihood: with its loss.
        weights: `[S, R, P]`.
        hyper: `[R, 1]` each.
        batch: the minibatch.

    Returns:
        `[S, R, P]`.
    """
    if native.covers(likelihood, weights):
        flat = weights.flatten(0, 1)
        mean, _, _ = native.moments(mlp, flat, None, None, batch[:3], hyper.get("noise_precision"))
        return mean.view_as(weights)
    outputs, tape = forward(mlp, weights, batch.inputs)
    return backward(tape, likelihood.gradient(outputs, batch.targets, batch.weights, hyper))


def mean_and_square(
    mlp: MLP, likelihood: Likelihood, draws: Draws, hyper: Hyper, batch: Batch
) -> Pair:
    """Means over samples of the gradient and of its square, `[R, P]` each; as for `gradients`."""
    if native.covers(likelihood, draws.loc):
        given = batch[:3], hyper.get("noise_precision")
        mean, square, _ = native.moments(mlp, *draws, *given, square=True)
        assert square is not None
        return mean, square
    found = gradients(mlp, likelihood, torch.addcmul(*draws), hyper, batch)
    return found.mean(0), found.square_().mean(0)


def mean_and_cross(
    mlp: MLP, likelihood: Likelihood, draws: Draws, hyper: Hyper, batch: Batch
) -> Pair:
    """Means over samples of the gradient and of its product with the noise, `[R, P]` each.

    They are the slopes of the expected loss in `loc` and in `scale`; as for `gradients`.
    """
    if native.covers(likelihood, draws.loc):
        given = batch[:3], hyper.get("noise_precision")
        mean, _, cross = native.moments(mlp, *draws, *given, cross=True)
        assert cross is not None
        return mean, cross
    found = gradients(mlp, likelihood, torch.addcmul(*draws), hyper, batch)
    return found.mean(0), (found * draws.noise).mean(0)
