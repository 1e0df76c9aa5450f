"""Observation models: the gradient of the negative log-likelihood at the network's output."""

from __future__ import annotations

from torch import Tensor


def gaussian_gradient(
    outputs: Tensor, targets: Tensor, weights: Tensor, noise_precision: Tensor
) -> Tensor:
    """Gradient of the weighted Gaussian negative log-likelihood (book, eq. 4.1).

    The loss is `sum_b weights[b] * noise_precision / 2 * (targets[b] - outputs[b])^2` plus a
    constant; with `weights` = mask / (real rows) it is the minibatch mean.

    Args:
        outputs: `[S, R, B]`, standardised units.
        targets: `[R, B]`.
        weights: `[R, B]`, zero on padding.
        noise_precision: `[R, 1]`.

    Returns:
        `[S, R, B]`.
    """
    return (outputs - targets) * (weights * noise_precision)
