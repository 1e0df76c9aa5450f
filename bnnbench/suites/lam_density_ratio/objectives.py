"""What the networks minimise, and its slopes, in the pre-activation of the estimator.

Sections 4.1, 4.2 and 7.2, 7.3 of the density-ratio thesis. The estimator's last layer gives a
number `a` for a pair of causes and observation. Its three parametrisations are activations of it:
`T = a` is the logarithm of the ratio q/p, `r = exp(a)` the ratio, `D = sigmoid(a)` the probability
that the pair is of q. Put into the losses, these are *the same function of `a`*, and so have the
same slopes in the weights: with exact arithmetic T, r and D are one algorithm. What differs is
rounding, which the published numerics keep: float32, saturation, and a constant of 1e-18 that keeps
logarithms from zero. `r = max(0, a)` of chapter 5, here `relu`, is the only other function.

"Reverse KL" is KL(q || p) here, as the thesis calls it; elsewhere in this package that is `kl`, and
`rkl` is KL(p || q).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from bnnbench.checks import check_choice
from bnnbench.identity import no_identity

TINY = 1e-18
"""The constant inside logarithms of the thesis's programs."""

STUCK_LOSS = -math.log(TINY)
"""Of an estimator whose ratio is zero wherever q is: 41.4465."""

Terms = tuple[Tensor, Tensor]
"""Values and their derivatives in the pre-activation, of the same shape."""


@dataclass(frozen=True, kw_only=True)
class RatioDivergence(ABC):
    """A divergence of q from p that an estimator of their density ratio bounds from below.

    The estimator's loss is `E_q[on_q(a)] + E_p[on_p(a)]`, and its least value is attained by the
    logarithm of q/p.
    """

    label: str
    summary: str = no_identity("")

    @abstractmethod
    def stable(self, a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
        """Terms of the loss without overflow or saturation."""

    @abstractmethod
    def of_ratio(self, r_q: Tensor, r_p: Tensor) -> tuple[Terms, Terms]:
        """Terms as published for an estimate of the ratio, and their derivatives in it."""

    @abstractmethod
    def of_probability(self, d_q: Tensor, d_p: Tensor, guarded: bool) -> tuple[Terms, Terms]:
        """Terms as published for an estimate of the class probability, and derivatives in it.

        Args:
            d_q: on draws of q.
            d_p: on draws of p.
            guarded: whether the constant also stands in the odds, as in the joint programs.
        """

    @abstractmethod
    def of_log_ratio(self, t_q: Tensor, t_p: Tensor) -> tuple[Terms, Terms]:
        """Terms as published for an estimate of the logarithm of the ratio."""


@dataclass(frozen=True, kw_only=True)
class ReverseKL(RatioDivergence):
    """KL(q || p): the loss `-E_q[log r] + E_p[r]` (4.2.2), which is `1 - KL` at the true ratio."""

    def stable(self, a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
        ratio = a_p.exp()
        return (-a_q, -torch.ones_like(a_q)), (ratio, ratio)

    def of_ratio(self, r_q: Tensor, r_p: Tensor) -> tuple[Terms, Terms]:
        kept = r_q + TINY
        return (-kept.log(), -kept.reciprocal()), (r_p, torch.ones_like(r_p))

    def of_probability(self, d_q: Tensor, d_p: Tensor, guarded: bool) -> tuple[Terms, Terms]:
        logit, slope = _published_logit(d_q)
        tiny = TINY if guarded else 0.0
        up, down = d_p + tiny, 1 - d_p + tiny
        return (-logit, -slope), (up / down, (up + down) / down.square())

    def of_log_ratio(self, t_q: Tensor, t_p: Tensor) -> tuple[Terms, Terms]:
        return self.stable(t_q, t_p)


@dataclass(frozen=True, kw_only=True)
class GAN(RatioDivergence):
    """Twice Jensen-Shannon less log 4: `-E_q[log D] - E_p[log(1 - D)]` (4.1.2), log 4 at q = p."""

    def stable(self, a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
        return (softplus(-a_q), -torch.sigmoid(-a_q)), (softplus(a_p), torch.sigmoid(a_p))

    def of_ratio(self, r_q: Tensor, r_p: Tensor) -> tuple[Terms, Terms]:
        # Without the constant in the program for exp; it differs where r is below 1e-11 only.
        kept, more, other = r_q + TINY, r_q + 1, r_p + 1
        on_q = -(kept / more).log(), more.reciprocal() - kept.reciprocal()
        return on_q, (other.log(), other.reciprocal())

    def of_probability(self, d_q: Tensor, d_p: Tensor, guarded: bool) -> tuple[Terms, Terms]:
        kept, other = d_q + TINY, 1 - d_p + TINY
        return (-kept.log(), -kept.reciprocal()), (-other.log(), other.reciprocal())

    def of_log_ratio(self, t_q: Tensor, t_p: Tensor) -> tuple[Terms, Terms]:
        r_q, r_p = t_q.exp(), t_p.exp()
        on_q = (r_q + 1).log() - t_q, r_q / (r_q + 1) - 1
        return on_q, ((r_p + 1).log(), r_p / (r_p + 1))


def _published_logit(d: Tensor) -> Terms:
    """`log((D + c) / (1 - D + c))` and its derivative in D."""
    up, down = d + TINY, 1 - d + TINY
    return (up / down).log(), up.reciprocal() + down.reciprocal()


@dataclass(frozen=True, kw_only=True)
class Estimator:
    """How the estimator's output is read, which under published numerics is how it is rounded.

    Attributes:
        label: `T`, `r`, `D` or `relu`.
    """

    label: str
    summary: str = no_identity("")

    def __post_init__(self) -> None:
        check_choice("estimator.label", self.label, ("T", "r", "D", "relu"))


@dataclass(frozen=True)
class Objective:
    """The estimator's loss and what the generator makes of the estimator, in numbers.

    Attributes:
        divergence: which bound.
        estimator: T, r, D or relu.
        stable: whether in the form without saturation, which is that of T, r and D alike.
        guarded: see `RatioDivergence.of_probability`.
    """

    divergence: RatioDivergence
    estimator: str
    stable: bool
    guarded: bool

    def terms(self, a_q: Tensor, a_p: Tensor) -> tuple[Terms, Terms]:
        """Terms of the estimator's loss on draws of q and p, and their derivatives in `a`."""
        if self.stable:
            return self.divergence.stable(a_q, a_p)
        if self.estimator == "T":
            return self.divergence.of_log_ratio(a_q, a_p)
        (u_q, slope_q), (u_p, slope_p) = self._output(a_q), self._output(a_p)
        if self.estimator == "D":
            on_q, on_p = self.divergence.of_probability(u_q, u_p, self.guarded)
        else:
            on_q, on_p = self.divergence.of_ratio(u_q, u_p)
        return (on_q[0], on_q[1] * slope_q), (on_p[0], on_p[1] * slope_p)

    def log_ratio(self, a: Tensor) -> Terms:
        """The estimate of `log q/p` that the generator's loss has, and its derivative in `a`."""
        if self.stable or self.estimator == "T":
            return a, torch.ones_like(a)
        output, slope = self._output(a)
        if self.estimator == "D":
            logit, outer = _published_logit(output)
            return logit, outer * slope
        kept = output + TINY
        return kept.log(), slope / kept

    def _output(self, a: Tensor) -> Terms:
        """The activation of the published program and its derivative."""
        if self.estimator == "relu":
            return a.relu(), (a > 0).to(a.dtype)
        if self.estimator == "r":
            ratio = a.exp()
            return ratio, ratio
        probability = a.sigmoid()
        return probability, probability * (1 - probability)


def negative_log_likelihood(z: Tensor, x: Tensor) -> Terms:
    """`-log p(x|z)` of the sprinkler `[R, B]`, and its derivatives in the causes `[R, 2, B]`.

    Args:
        z: `[R, 2, B]`.
        x: `[R or 1, B]`.
    """
    positive = z.clamp_min(0)
    mean = 3 + positive.pow(3).sum(1)
    slope = ((1 - x / mean) / mean).unsqueeze(1) * (3 * positive.square())
    return mean.log() + x / mean, slope
