"""Output moments of a network with a diagonal Gaussian over its weights, and their gradients.

Wu et al., "Deterministic Variational Inference for Robust Bayesian Neural Networks", ICLR 2019,
section 3, without covariances between units (dDVI). The moments of a ReLU are in
`moment_propagation`. The weights are those of an `MLP`, without the layer scaling of `pbp`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bnnbench.methods.shared.moment_propagation import (
    Inputs,
    Layer,
    Moments,
    Rectified,
    rectify,
    rectify_back,
)
from bnnbench.nn import MLP


def layers_of(mlp: MLP, weights: Moments) -> list[Layer]:
    """Split means and variances `[R, P]` into layers: matrices `[R, I, O]`, biases `[R, 1, O]`."""
    views = []
    for flat in weights:
        hidden, (rows, bias) = mlp.layers(flat)
        views.append([*hidden, (rows.mT, bias.mT)])
    return [
        ((matrix, of_matrix), (bias, of_bias))
        for (matrix, bias), (of_matrix, of_bias) in zip(*views, strict=True)
    ]


def linear(inputs: Inputs, layer: Layer) -> Moments:
    """Return the moments of `z W + b` for independent z, W and b, `[R, B, O]` each."""
    z, z_var = inputs
    (w, w_var), (bias, bias_var) = layer
    if z_var is None:
        return z @ w + bias, z.square() @ w_var + bias_var
    return z @ w + bias, (z.square() + z_var) @ w_var + z_var @ w.square() + bias_var


def propagate(layers: list[Layer], inputs: Tensor) -> tuple[Moments, list[Inputs], list[Rectified]]:
    """Return the moments of the output, `[R, B]` each, of every layer's inputs and of every ReLU.

    Args:
        layers: from `layers_of`.
        inputs: `[R, B, D]`.
    """
    tape: list[Inputs] = [(inputs, None)]
    rectified = []
    for layer in layers[:-1]:
        rectified.append(rectify(*linear(tape[-1], layer)))
        tape.append((rectified[-1].mean, rectified[-1].variance))
    mean, variance = linear(tape[-1], layers[-1])
    return (mean.squeeze(2), variance.squeeze(2)), tape, rectified


def backpropagate(
    layers: list[Layer], tape: list[Inputs], rectified: list[Rectified], d: Moments
) -> Moments:
    """Backpropagate derivatives from the output's moments, `[R, B, 1]` each, to the weights.

    Returns:
        Derivatives with respect to means and variances, summed over rows, `[R, P]` each.
    """
    by_means: list[Tensor] = []
    by_variances: list[Tensor] = []
    for k in range(len(layers) - 1, -1, -1):
        (w, w_var), _ = layers[k]
        (z, z_var), (d_mean, d_var) = tape[k], d
        square, by_w = z.square(), z.mT @ d_mean
        if z_var is not None:
            square = square + z_var
            by_w = by_w + 2 * w * (z_var.mT @ d_var)
        by_means[:0] = [by_w.flatten(1), d_mean.sum(1)]
        by_variances[:0] = [(square.mT @ d_var).flatten(1), d_var.sum(1)]
        if k > 0:
            shared = d_var @ w_var.mT
            of_inputs = d_mean @ w.mT + 2 * z * shared, shared + d_var @ w.square().mT
            d = rectify_back(rectified[k - 1], of_inputs)
    return torch.cat(by_means, 1), torch.cat(by_variances, 1)
