"""Kullback-Leibler divergences: KL(q || prior), KL(prior || q) and their sum.

Standard variational inference minimises KL(q || prior). The GVI thesis (sections 4.1 and 5.0.1)
calls KL(prior || q) reverse KL (RKL), although its section 5.0.1 prints the two formulas the
other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.divergences.base import Pair, RatioDivergence, standardised


def kl(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """KL(q || p) in nats (book, eq. 4.7; thesis, section 5.0.1).

    `log(p_scale / q_scale) + ((q_loc - p_loc)^2 + q_scale^2 - p_scale^2) / (2 p_scale^2)`.
    """
    distance, log_ratio = standardised(q_loc, q_scale, p_loc, p_scale)
    # Rounding could make this slightly negative where it is zero.
    width = 0.5 * torch.expm1(2 * log_ratio) - log_ratio
    return 0.5 * distance.square() + width.clamp(min=0)


def kl_prior_posterior(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """KL(p || q) in nats, with p the prior: the thesis's RKL."""
    return kl(p_loc, p_scale, q_loc, q_scale)


def jeffreys(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """KL(q || p) + KL(p || q) in nats (Jeffreys 1946).

    The thesis (section 6.2) calls half of it by this name, its `JS_alpha` at `alpha = 1`.
    """
    parameters = q_loc, q_scale, p_loc, p_scale
    return kl(*parameters) + kl_prior_posterior(*parameters)


@dataclass(frozen=True, kw_only=True)
class KL(RatioDivergence):
    """KL(q || prior). With `weight` 1 the objective is the negative ELBO.

    The Monte Carlo estimate is the mean of `log(q / p)`, which is unbiased.
    """

    identity_name = "bnnbench.divergences.kl.KL"
    between = staticmethod(kl)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        return prior_precision * loc, prior_precision * scale - scale.reciprocal()

    def estimate(self, log_ratio: Tensor) -> Tensor:
        return log_ratio.mean(0)


@dataclass(frozen=True, kw_only=True)
class KLPriorPosterior(RatioDivergence):
    """KL(prior || q), the thesis's RKL.

    The Monte Carlo estimate is the mean of `u log(u) - u + 1` with `u = p / q`. It is never
    negative and unbiased, but its variance is infinite where q is narrower than the prior by a
    factor of more than `sqrt(2)`.
    """

    identity_name = "bnnbench.divergences.kl.KLPriorPosterior"
    between = staticmethod(kl_prior_posterior)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        inverse = scale.reciprocal()
        d_loc = loc * inverse.square()
        second = prior_precision.reciprocal() + loc.square()
        return d_loc, inverse - second * inverse**3

    def estimate(self, log_ratio: Tensor) -> Tensor:
        return (-log_ratio * (-log_ratio).exp() - torch.expm1(-log_ratio)).mean(0)


@dataclass(frozen=True, kw_only=True)
class Jeffreys(RatioDivergence):
    """KL(q || prior) + KL(prior || q).

    The Monte Carlo estimate is the mean of `(1 - p / q) log(q / p)`. It is unbiased; its variance
    is infinite where that of `KLPriorPosterior` is.
    """

    identity_name = "bnnbench.divergences.kl.Jeffreys"
    between = staticmethod(jeffreys)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        inverse = scale.reciprocal()
        d_loc = loc * (prior_precision + inverse.square())
        second = prior_precision.reciprocal() + loc.square()
        return d_loc, prior_precision * scale - second * inverse**3

    def estimate(self, log_ratio: Tensor) -> Tensor:
        return (-log_ratio * torch.expm1(-log_ratio)).mean(0)
