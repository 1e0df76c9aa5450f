"""The six loss functionals of an estimator at one point, and their derivatives.

For fixed densities `q` and `p` at a point, the estimator's loss is a function of its output there
(thesis, example 9.1.1). Three outputs represent the same density ratio `q / p`: the class
probability `D = q / (q + p)`, the ratio `r = q / p` itself, and its logarithm `T`. The loss is
derived from the lower bound of the reverse KL, KL(q || p), or from that of the GAN divergence,
`2 JS - log 4` (section 7.2).

The derivatives are those printed in section 9.1.2, which are all correct. There are two
misprints: the headings say "Upper Bound" for lower bounds, and section 7.3.2 prints
`E_p[log D / (1 - D)]` for `E_p[D / (1 - D)]` in the loss of `D` under reverse KL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

OfOutput = Callable[[Tensor, Tensor, Tensor], Tensor]
"""A function of the output and of both densities `q` and `p`, all of one shape."""


@dataclass(frozen=True)
class Functional:
    """A loss at one point, as a function of the estimator's output there.

    Attributes:
        loss: `q` times the term under `E_q` plus `p` times the term under `E_p`.
        slope: first derivative with respect to the output.
        curvature: second derivative with respect to the output.
    """

    loss: OfOutput
    slope: OfOutput
    curvature: OfOutput


FUNCTIONALS: Mapping[tuple[str, str], Functional] = {
    ("gan", "class_probability"): Functional(
        lambda d, q, p: -q * torch.log(d) - p * torch.log(1 - d),
        lambda d, q, p: -q / d + p / (1 - d),
        lambda d, q, p: q / d**2 + p / (1 - d) ** 2,
    ),
    ("gan", "ratio"): Functional(
        lambda r, q, p: q * torch.log((r + 1) / r) + p * torch.log(r + 1),
        lambda r, q, p: -q / r + (q + p) / (r + 1),
        lambda r, q, p: q / r**2 - (q + p) / (r + 1) ** 2,
    ),
    ("gan", "log_ratio"): Functional(
        lambda t, q, p: (
            q * torch.log((torch.exp(t) + 1) / torch.exp(t)) + p * torch.log(1 + t.exp())
        ),
        lambda t, q, p: -q + (q + p) * torch.sigmoid(t),
        lambda t, q, p: (q + p) * torch.exp(t) / (torch.exp(t) + 1) ** 2,
    ),
    ("kl_posterior_prior", "class_probability"): Functional(
        lambda d, q, p: q * torch.log((1 - d) / d) + p * d / (1 - d),
        lambda d, q, p: -q / d - q / (1 - d) + p / (1 - d) ** 2,
        lambda d, q, p: q / d**2 - q / (1 - d) ** 2 + 2 * p / (1 - d) ** 3,
    ),
    ("kl_posterior_prior", "ratio"): Functional(
        lambda r, q, p: -q * torch.log(r) + p * r,
        lambda r, q, p: -q / r + p,
        lambda r, q, p: q / r**2,
    ),
    ("kl_posterior_prior", "log_ratio"): Functional(
        lambda t, q, p: -q * t + p * torch.exp(t),
        lambda t, q, p: -q + p * torch.exp(t),
        lambda t, q, p: p * torch.exp(t),
    ),
}
"""By divergence and estimator, in the order of the panels of Fig. 9.1."""

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "class_probability": torch.sigmoid,
    "ratio": torch.exp,
    "log_ratio": lambda pre_activation: pre_activation,
}
"""Output activation of each estimator.

All three outputs then represent the same ratio, `D / (1 - D) = r = exp(T)`, so the loss of a
divergence is the same function of the pre-activation for every estimator (lemma 10.3.1 of the
thesis states this for `D` only).
"""


def optimum(estimator: str, q: Tensor, p: Tensor) -> Tensor:
    """Return the output that minimises the loss (lemmas 4.1.1 and 4.2.2)."""
    return ACTIVATIONS[estimator](torch.log(q / p))


def of_pre_activation(divergence: str, estimator: str) -> OfOutput:
    """Return the loss as a function of the pre-activation."""
    loss, activation = FUNCTIONALS[divergence, estimator].loss, ACTIVATIONS[estimator]
    return lambda pre_activation, q, p: loss(activation(pre_activation), q, p)


def derivatives(loss: OfOutput, at: Tensor, q: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first and second derivative at outputs `at`, by automatic differentiation.

    All tensors are `[N]`, and `loss` is an elementwise function of its first argument.
    """
    at = at.detach().requires_grad_()
    (slope,) = torch.autograd.grad(loss(at, q, p).sum(), at, create_graph=True)
    if not slope.requires_grad:
        return slope, torch.zeros_like(slope)
    (curvature,) = torch.autograd.grad(slope.sum(), at)
    return slope.detach(), curvature
