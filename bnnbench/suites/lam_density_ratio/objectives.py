"""Losses of a density-ratio estimator, and their derivatives at its pre-activation.

Sections 4.1, 4.2, 7.2 and 7.3 of the density-ratio thesis. For a pair of causes and observation the
estimator's last layer returns a pre-activation `a`. Three output activations turn it into an
estimate: the log ratio `T = a` of q/p, the ratio `r = exp(a)`, or the class probability
`D = sigmoid(a)` that the pair comes from q. Substituted into the losses of one divergence, all
three give *the same function of `a`*, hence the same gradient in the weights: in exact arithmetic
T, r and D are one algorithm. They differ in rounding only, which the published numerics reproduce:
float32, saturation, and a constant of 1e-18 inside logarithms. The ratio `r = max(0, a)` of
chapter 5, here `relu_ratio`, is a different function.

An estimator minimises `E_q[f] + E_p[g]`, whose minimum is at `a = log q/p`:

    reverse KL   f = -log r          g = r                (4.2.2), `1 - KL(q || p)` at the minimum
    GAN          f = -log D          g = -log(1 - D)      (4.1.2), `log 4 - 2 JS` at the minimum
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import torch
from torch import Tensor
from torch.nn.functional import softplus

from bnnbench.suites.lam_density_ratio.names import RELU_RATIO

TINY = 1e-18
"""The constant that the thesis's programs add inside logarithms."""

STUCK_LOSS = -math.log(TINY)
"""Loss of an estimator whose ratio is zero on all draws of q: 41.4465."""

Terms = tuple[Tensor, Tensor]
"""Values and their derivatives, of the same shape."""

Loss = Callable[[Tensor, Tensor], tuple[Terms, Terms]]
"""Returns `f` on draws of q and `g` on draws of p, with derivatives, given outputs on both."""


def stable_kl(a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
    """Return the terms of reverse KL in the log ratio, in which they do not saturate."""
    ratio = a_p.exp()
    return (-a_q, -torch.ones_like(a_q)), (ratio, ratio)


def kl_of_ratio(r_q: Tensor, r_p: Tensor) -> tuple[Terms, Terms]:
    """Return the published terms of reverse KL in the ratio."""
    guarded = r_q + TINY
    return (-guarded.log(), -guarded.reciprocal()), (r_p, torch.ones_like(r_p))


def kl_of_probability(d_q: Tensor, d_p: Tensor, guard: float = 0.0) -> tuple[Terms, Terms]:
    """Return the published terms of reverse KL in the class probability.

    Args:
        d_q: estimates on draws of q.
        d_p: estimates on draws of p.
        guard: constant in the odds of `d_p`; only the joint programs have one.
    """
    logit, slope = _published_logit(d_q)
    top, bottom = d_p + guard, 1 - d_p + guard
    return (-logit, -slope), (top / bottom, (top + bottom) / bottom.square())


def stable_gan(a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
    """Return the terms of GAN in the log ratio, without overflow or saturation."""
    return (softplus(-a_q), -torch.sigmoid(-a_q)), (softplus(a_p), torch.sigmoid(a_p))


def gan_of_log_ratio(t_q: Tensor, t_p: Tensor) -> tuple[Terms, Terms]:
    """Return the published terms of GAN in the log ratio."""
    r_q, r_p = t_q.exp(), t_p.exp()
    on_q = (r_q + 1).log() - t_q, r_q / (r_q + 1) - 1
    return on_q, ((r_p + 1).log(), r_p / (r_p + 1))


def gan_of_ratio(r_q: Tensor, r_p: Tensor) -> tuple[Terms, Terms]:
    """Return the published terms of GAN in the ratio.

    The program for exp adds no constant, which only matters for r below 1e-11.
    """
    guarded, next_q, next_p = r_q + TINY, r_q + 1, r_p + 1
    on_q = -(guarded / next_q).log(), next_q.reciprocal() - guarded.reciprocal()
    return on_q, (next_p.log(), next_p.reciprocal())


def gan_of_probability(d_q: Tensor, d_p: Tensor) -> tuple[Terms, Terms]:
    """Return the published terms of GAN in the class probability."""
    safe_q, safe_p = d_q + TINY, 1 - d_p + TINY
    return (-safe_q.log(), -safe_q.reciprocal()), (-safe_p.log(), safe_p.reciprocal())


LOSSES: Mapping[str, Mapping[str, Loss]] = {
    "gan": {
        "stable": stable_gan,
        "log_ratio": gan_of_log_ratio,
        "ratio": gan_of_ratio,
        RELU_RATIO: gan_of_ratio,
        "class_probability": gan_of_probability,
    },
    "kl_posterior_prior": {
        "stable": stable_kl,
        "log_ratio": stable_kl,
        "ratio": kl_of_ratio,
        RELU_RATIO: kl_of_ratio,
        "class_probability": kl_of_probability,
    },
}
"""By divergence and estimator, whose output is the argument, or `stable`."""


def _published_logit(d: Tensor) -> Terms:
    """Return `log((D + c) / (1 - D + c))` and its derivative with respect to D."""
    top, bottom = d + TINY, 1 - d + TINY
    return (top / bottom).log(), top.reciprocal() + bottom.reciprocal()


@dataclass(frozen=True)
class Objective:
    """The estimator's loss, and the log ratio that enters the generator's.

    Attributes:
        divergence: a key of `LOSSES`.
        estimator: a key of `names.SYMBOLS`.
        stable: whether to use the form without saturation, the same for T, r and D.
        guarded: whether the odds of `kl_of_probability` have a constant.
    """

    divergence: str
    estimator: str
    stable: bool = False
    guarded: bool = False

    def terms(self, a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
        """Return the loss terms on draws of q and of p, with derivatives with respect to `a`."""
        (u_q, slope_q), (u_p, slope_p) = self._output(a_q), self._output(a_p)
        loss = LOSSES[self.divergence]["stable" if self.stable else self.estimator]
        if self.guarded and loss is kl_of_probability:
            loss = partial(kl_of_probability, guard=TINY)
        (value_q, outer_q), (value_p, outer_p) = loss(u_q, u_p)
        return (value_q, outer_q * slope_q), (value_p, outer_p * slope_p)

    def log_ratio(self, a: Tensor) -> Terms:
        """Return the estimate of `log q/p` in the generator's loss and its slope at `a`."""
        output, slope = self._output(a)
        if self.stable or self.estimator == "log_ratio":
            return output, slope
        if self.estimator == "class_probability":
            logit, outer = _published_logit(output)
            return logit, outer * slope
        guarded = output + TINY
        return guarded.log(), slope / guarded

    def _output(self, a: Tensor) -> Terms:
        """Return the estimator's output and its derivative with respect to `a`."""
        if self.stable or self.estimator == "log_ratio":
            return a, torch.ones_like(a)
        if self.estimator == RELU_RATIO:
            return a.relu(), (a > 0).to(a.dtype)
        if self.estimator == "ratio":
            ratio = a.exp()
            return ratio, ratio
        probability = a.sigmoid()
        return probability, probability * (1 - probability)


class StackedObjectives:
    """The objectives of all replicas of a stack.

    Args:
        objectives: of each replica, equal ones adjacent.
    """

    def __init__(self, objectives: Sequence[Objective]) -> None:
        self._slices, start = [], 0
        for objective, group in groupby(objectives):
            count = len(list(group))
            self._slices.append((slice(start, start + count), objective))
            start += count

    def estimator_loss(self, on_q: Terms, on_p: Terms) -> Tensor:
        """Return the estimators' losses `[R]`, means over columns, and write their gradients.

        Args:
            on_q: pre-activations `[R, B]` on draws of q, and the buffer for the gradient at them.
            on_p: the same on draws of p.
        """
        loss, scale = torch.empty_like(on_q[0][:, 0]), 1 / on_q[0].shape[1]
        for rows, objective in self._slices:
            (value_q, down_q), (value_p, down_p) = objective.terms(on_q[0][rows], on_p[0][rows])
            torch.mul(down_q, scale, out=on_q[1][rows])
            torch.mul(down_p, scale, out=on_p[1][rows])
            loss[rows] = value_q.mean(1) + value_p.mean(1)
        return loss

    def log_ratio(self, a: Tensor) -> Terms:
        """Return the mean estimate of `log q/p` `[R]` and its gradient at `a` `[R, B]`."""
        mean, slope, scale = torch.empty_like(a[:, 0]), torch.empty_like(a), 1 / a.shape[1]
        for rows, objective in self._slices:
            value, down = objective.log_ratio(a[rows])
            slope[rows], mean[rows] = down * scale, value.mean(1)
        return mean, slope
