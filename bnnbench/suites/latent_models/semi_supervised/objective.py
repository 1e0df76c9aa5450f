"""Relaxed labels, and derivatives of the semi-supervised objective at the classifier's outputs.

With `a` the outputs of the classifier, `pi = softmax(a)` and L(x, y) the bound of log p(x, y), an
image without label has the bound `U(x) = sum_y pi_y (L(x, y) - log pi_y)` (book, 5.36). The
relaxation replaces the sum by `L(x, y~) + H(pi)` for one draw of y~ from a Concrete distribution
(5.24 to 5.26, which lacks the temperature). Functions return gradients of losses, minus the bounds.
Classes are on axis 1.
"""

from __future__ import annotations

import torch
from torch import Tensor


def relax(log_probabilities: Tensor, uniform: Tensor, temperature: float) -> Tensor:
    """Return a draw of the Concrete distribution (Maddison et al. 2017; Jang et al. 2017).

    Args:
        log_probabilities: `[R, L, B]`.
        uniform: draws on [0, 1), of the same shape.
        temperature: tau; 0 would give one-hot labels.
    """
    tiny = torch.finfo(uniform.dtype).tiny
    gumbel = -(-uniform.clamp_min(tiny).log()).clamp_min(tiny).log()
    return ((log_probabilities + gumbel) / temperature).softmax(1)


def relaxed_slope(
    relaxed: Tensor,
    at_labels: Tensor,
    log_probabilities: Tensor,
    weight: Tensor,
    temperature: float,
) -> Tensor:
    """Return the gradient at `a` of `-L(x, y~) - H(pi)`, times the columns' weight.

    Args:
        relaxed: y~, `[R, L, B]`.
        at_labels: gradient of the weighted -L at y~, `[R, L, B]`.
        log_probabilities: log pi, `[R, L, B]`.
        weight: of the columns, `[R or 1, 1, B]`.
        temperature: tau.
    """
    through = relaxed * (at_labels - (relaxed * at_labels).sum(1, keepdim=True)) / temperature
    pi = log_probabilities.exp()
    entropy = (pi * log_probabilities).sum(1, keepdim=True)
    return through + weight * pi * (log_probabilities - entropy)


def enumerated_bound(bounds: Tensor, log_probabilities: Tensor) -> Tensor:
    """Return U(x), `[R, B]`, given L(x, y) for every y, `[R, L, B]`."""
    return (log_probabilities.exp() * (bounds - log_probabilities)).sum(1)


def enumerated_slope(bounds: Tensor, log_probabilities: Tensor, weight: Tensor) -> Tensor:
    """Return the gradient at `a` of -U(x), times the columns' weight; arguments as above."""
    pi, terms = log_probabilities.exp(), bounds - log_probabilities
    return -weight * pi * (terms - (pi * terms).sum(1, keepdim=True))
