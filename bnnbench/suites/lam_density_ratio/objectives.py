"""Losses of both networks and their derivatives with respect to the estimator's pre-activation.

Sections 4.1, 4.2, 7.2 and 7.3 of the density-ratio thesis. For a pair of causes and observation the
estimator's last layer returns a pre-activation `a`. Three output activations turn it into an
estimate: the log ratio `T = a` of q/p, the ratio `r = exp(a)`, or the class probability
`D = sigmoid(a)` that the pair comes from q. Substituted into the losses of one divergence, all
three give *the same function of `a`*, hence the same gradient in the weights: in exact arithmetic
T, r and D are one algorithm. They differ in rounding only, which the published numerics reproduce:
float32, saturation, and a constant of 1e-18 inside logarithms. The ratio `r = max(0, a)` of
chapter 5, here `relu_ratio`, is a different function.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

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


class EstimatedDivergence(ABC):
    """A divergence of q from p with a lower bound in terms of an estimated density ratio.

    The estimator minimises `E_q[f(a)] + E_p[g(a)]`, whose minimum is at `a = log q/p`. Each method
    returns the terms `f` on draws of q and `g` on draws of p, with their derivatives.
    """

    @abstractmethod
    def stable(self, a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
        """Return the terms in the pre-activation, without overflow or saturation."""

    @abstractmethod
    def of_ratio(self, r_q: Tensor, r_p: Tensor) -> tuple[Terms, Terms]:
        """Return the published terms in an estimate of the ratio."""

    @abstractmethod
    def of_probability(self, d_q: Tensor, d_p: Tensor, guarded: bool) -> tuple[Terms, Terms]:
        """Return the published terms in an estimate of the class probability.

        Args:
            d_q: estimates on draws of q.
            d_p: estimates on draws of p.
            guarded: whether to add the constant to the odds too, as the joint programs do.
        """

    @abstractmethod
    def of_log_ratio(self, t_q: Tensor, t_p: Tensor) -> tuple[Terms, Terms]:
        """Return the published terms in an estimate of the log ratio."""


class KLPosteriorPrior(EstimatedDivergence):
    """KL(q || p): the loss `-E_q[log r] + E_p[r]` (4.2.2), which is `1 - KL` at the true ratio."""

    def stable(self, a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
        ratio = a_p.exp()
        return (-a_q, -torch.ones_like(a_q)), (ratio, ratio)

    def of_ratio(self, r_q: Tensor, r_p: Tensor) -> tuple[Terms, Terms]:
        guarded = r_q + TINY
        return (-guarded.log(), -guarded.reciprocal()), (r_p, torch.ones_like(r_p))

    def of_probability(self, d_q: Tensor, d_p: Tensor, guarded: bool) -> tuple[Terms, Terms]:
        logit, slope = _published_logit(d_q)
        tiny = TINY if guarded else 0.0
        top, bottom = d_p + tiny, 1 - d_p + tiny
        return (-logit, -slope), (top / bottom, (top + bottom) / bottom.square())

    def of_log_ratio(self, t_q: Tensor, t_p: Tensor) -> tuple[Terms, Terms]:
        return self.stable(t_q, t_p)


class GAN(EstimatedDivergence):
    """`2 JS - log 4`: the loss `-E_q[log D] - E_p[log(1 - D)]` (4.1.2), which is log 4 at q = p."""

    def stable(self, a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
        return (softplus(-a_q), -torch.sigmoid(-a_q)), (softplus(a_p), torch.sigmoid(a_p))

    def of_ratio(self, r_q: Tensor, r_p: Tensor) -> tuple[Terms, Terms]:
        # The program for exp adds no constant, which only matters for r below 1e-11.
        guarded, next_q, next_p = r_q + TINY, r_q + 1, r_p + 1
        on_q = -(guarded / next_q).log(), next_q.reciprocal() - guarded.reciprocal()
        return on_q, (next_p.log(), next_p.reciprocal())

    def of_probability(self, d_q: Tensor, d_p: Tensor, guarded: bool) -> tuple[Terms, Terms]:
        safe_q, safe_p = d_q + TINY, 1 - d_p + TINY
        return (-safe_q.log(), -safe_q.reciprocal()), (-safe_p.log(), safe_p.reciprocal())

    def of_log_ratio(self, t_q: Tensor, t_p: Tensor) -> tuple[Terms, Terms]:
        r_q, r_p = t_q.exp(), t_p.exp()
        on_q = (r_q + 1).log() - t_q, r_q / (r_q + 1) - 1
        return on_q, ((r_p + 1).log(), r_p / (r_p + 1))


DIVERGENCES: Mapping[str, EstimatedDivergence] = {
    "gan": GAN(),
    "kl_posterior_prior": KLPosteriorPrior(),
}


def _published_logit(d: Tensor) -> Terms:
    """Return `log((D + c) / (1 - D + c))` and its derivative with respect to D."""
    top, bottom = d + TINY, 1 - d + TINY
    return (top / bottom).log(), top.reciprocal() + bottom.reciprocal()


@dataclass(frozen=True)
class Objective:
    """The estimator's loss, and the log ratio that enters the generator's.

    Attributes:
        divergence: a key of `DIVERGENCES`.
        estimator: a key of `names.SYMBOLS`.
        stable: whether to use the form without saturation, the same for T, r and D.
        guarded: see `EstimatedDivergence.of_probability`.
    """

    divergence: str
    estimator: str
    stable: bool
    guarded: bool

    def terms(self, a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
        """Return the loss terms on draws of q and of p, with derivatives with respect to `a`."""
        divergence = DIVERGENCES[self.divergence]
        if self.stable:
            return divergence.stable(a_q, a_p)
        if self.estimator == "log_ratio":
            return divergence.of_log_ratio(a_q, a_p)
        (u_q, slope_q), (u_p, slope_p) = self._output(a_q), self._output(a_p)
        if self.estimator == "class_probability":
            on_q, on_p = divergence.of_probability(u_q, u_p, self.guarded)
        else:
            on_q, on_p = divergence.of_ratio(u_q, u_p)
        return (on_q[0], on_q[1] * slope_q), (on_p[0], on_p[1] * slope_p)

    def log_ratio(self, a: Tensor) -> Terms:
        """Return the estimate of `log q/p` in the generator's loss and its slope at `a`."""
        if self.stable or self.estimator == "log_ratio":
            return a, torch.ones_like(a)
        output, slope = self._output(a)
        if self.estimator == "class_probability":
            logit, outer = _published_logit(output)
            return logit, outer * slope
        guarded = output + TINY
        return guarded.log(), slope / guarded

    def _output(self, a: Tensor) -> Terms:
        """Return the estimator's output and its derivative with respect to `a`."""
        if self.estimator == RELU_RATIO:
            return a.relu(), (a > 0).to(a.dtype)
        if self.estimator == "ratio":
            ratio = a.exp()
            return ratio, ratio
        probability = a.sigmoid()
        return probability, probability * (1 - probability)


def negative_log_likelihood(z: Tensor, x: Tensor) -> Terms:
    """Return `-log p(x|z)` of the sprinkler `[R, B]` and its gradient at `z` `[R, 2, B]`.

    Args:
        z: `[R, 2, B]`.
        x: `[R or 1, B]`.
    """
    positive = z.clamp_min(0)
    mean = 3 + positive.pow(3).sum(1)
    slope = ((1 - x / mean) / mean).unsqueeze(1) * (3 * positive.square())
    return mean.log() + x / mean, slope
