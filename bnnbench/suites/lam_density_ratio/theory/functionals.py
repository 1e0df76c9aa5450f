"""The six loss functionals of an estimator at one point, and their derivatives.

With the densities `q` and `p` at a point held fixed, the estimator's loss is a function of its
output there (thesis, example 9.1.1). Three outputs stand for the same density ratio `q / p`: the
class probability `D = q / (q + p)`, the ratio `r = q / p` itself and its logarithm `T`. Two lower
bounds of a divergence make the loss: that of the reverse KL and that of the GAN divergence,
`2 JS - log 4` (section 7.2).

The derivatives are those printed in section 9.1.2, all of which hold. Its headings say "Upper
Bound" where lower bounds are meant, and section 7.3.2 prints `E_p[log D / (1 - D)]` where the loss
of `D` under reverse KL has `E_p[D / (1 - D)]`.
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
        loss: `q` times the term under `E_q` plus `p` times that under `E_p`.
        slope: its first derivative in the output.
        curvature: its second.
    """

    loss: OfOutput
    slope: OfOutput
    curvature: OfOutput


FUNCTIONALS: Mapping[tuple[str, str], Functional] = {
    ("gan", "D"): Functional(
        lambda d, q, p: -q * torch.log(d) - p * torch.log(1 - d),
        lambda d, q, p: -q / d + p / (1 - d),
        lambda d, q, p: q / d**2 + p / (1 - d) ** 2,
    ),
    ("gan", "r"): Functional(
        lambda r, q, p: q * torch.log((r + 1) / r) + p * torch.log(r + 1),
        lambda r, q, p: -q / r + (q + p) / (r + 1),
        lambda r, q, p: q / r**2 - (q + p) / (r + 1) ** 2,
    ),
    ("gan", "T"): Functional(
        lambda t, q, p: (
            q * torch.log((torch.exp(t) + 1) / torch.exp(t)) + p * torch.log(1 + t.exp())
        ),
        lambda t, q, p: -q + (q + p) * torch.sigmoid(t),
        lambda t, q, p: (q + p) * torch.exp(t) / (torch.exp(t) + 1) ** 2,
    ),
    ("reverse_kl", "D"): Functional(
        lambda d, q, p: q * torch.log((1 - d) / d) + p * d / (1 - d),
        lambda d, q, p: -q / d - q / (1 - d) + p / (1 - d) ** 2,
        lambda d, q, p: q / d**2 - q / (1 - d) ** 2 + 2 * p / (1 - d) ** 3,
    ),
    ("reverse_kl", "r"): Functional(
        lambda r, q, p: -q * torch.log(r) + p * r,
        lambda r, q, p: -q / r + p,
        lambda r, q, p: q / r**2,
    ),
    ("reverse_kl", "T"): Functional(
        lambda t, q, p: -q * t + p * torch.exp(t),
        lambda t, q, p: -q + p * torch.exp(t),
        lambda t, q, p: p * torch.exp(t),
    ),
}
"""By divergence and estimator, in the order of the panels of Fig. 9.1."""

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "D": torch.sigmoid,
    "r": torch.exp,
    "T": lambda pre_activation: pre_activation,
}
"""What makes an estimator's output of the network's last number, the pre-activation.

Since all three stand for the same ratio then, `D / (1 - D) = r = exp(T)`, the loss of a divergence
is one and the same function of the pre-activation whatever the estimator (the thesis notes it of
`D` alone, lemma 10.3.1).
"""


def optimum(estimator: str, q: Tensor, p: Tensor) -> Tensor:
    """The output with the least loss (lemmas 4.1.1 and 4.2.2): the activation at `log q / p`."""
    return ACTIVATIONS[estimator](torch.log(q / p))


def of_pre_activation(divergence: str, estimator: str) -> OfOutput:
    """The loss as a function of the pre-activation rather than of the output."""
    loss, activation = FUNCTIONALS[divergence, estimator].loss, ACTIVATIONS[estimator]
    return lambda pre_activation, q, p: loss(activation(pre_activation), q, p)


def derivatives(loss: OfOutput, at: Tensor, q: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """First and second derivative by automatic differentiation.

    Args:
        loss: a function of its first argument, element by element.
        at: `[N]`, where.
        q: `[N]`, the density of the posterior's side.
        p: `[N]`, of the prior's side.

    Returns:
        Two tensors `[N]`.
    """
    at = at.detach().requires_grad_()
    (slope,) = torch.autograd.grad(loss(at, q, p).sum(), at, create_graph=True)
    if not slope.requires_grad:
        return slope, torch.zeros_like(slope)
    (curvature,) = torch.autograd.grad(slope.sum(), at)
    return slope.detach(), curvature
