"""Divergences based on the Chernoff integral `I = integral q^alpha p^(1-alpha)`.

These are Rényi's divergences and the alpha-divergences, with Hellinger and chi-squared as special
cases of the latter. For Gaussians

    v = alpha p_scale^2 + (1 - alpha) q_scale^2,
    log I = (1 - alpha) log q_scale + alpha log p_scale - log(v) / 2
            - alpha (1 - alpha) (q_loc - p_loc)^2 / (2 v),

and I is infinite unless v > 0: for `alpha > 1`, q must not be too wide. Outside this domain values
and gradients are NaN, so the trainer reports the replica as diverged.

GVI thesis, sections 4.1 and 5.0.1; Gil, Alajaji and Linder (2013), "Rényi divergence measures for
commonly used univariate continuous distributions"; Cichocki and Amari (2010). The thesis writes
the divergences from prior to posterior, D(prior || q), but uses KL(q || prior) for standard
variational inference and for the limit `alpha = 1`. Here q is always first, as in Knoblauch,
Jewson and Damoulas (2019), so `alpha = 1` is KL(q || prior) and is computed as such.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.divergences.base import AlphaDivergence, Pair, RatioDivergence, standardised
from bnnbench.divergences.kl import kl

MAX_EXPONENT = 40.0  # expm1(x) equals exp(x) up to rounding here, and neither overflows


def _excess(log_ratio: Tensor) -> Tensor:
    """`q_scale^2 / p_scale^2 - 1`, clamped where float32 would overflow."""
    return torch.expm1((2 * log_ratio).clamp(max=2 * MAX_EXPONENT))


def _shared_width(alpha: float, log_ratio: Tensor) -> Tensor:
    """`v / p_scale^2`; it and its derivative are NaN where it is not positive."""
    width = 1 + (1 - alpha) * _excess(log_ratio)
    return width * torch.where(width > 0, torch.ones_like(width), math.nan)


def _log_mix(share: float, exponent: Tensor) -> Tensor:
    """`log(1 - share + share exp(exponent))` without overflow."""
    held = exponent.clamp(max=MAX_EXPONENT)
    return torch.log1p(share * torch.expm1(held)) + (exponent - held)


def renyi(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor, alpha: float) -> Tensor:
    """Rényi's divergence `log(I) / (alpha - 1)` in nats (thesis, section 5.0.1).

    The factor is that of Rényi (1961) and of the closed form in the thesis, so the divergence
    vanishes as `alpha` goes to 0. Section 4.1 of the thesis divides by `alpha (1 - alpha)`, with
    the sign reversed. Knoblauch et al. divide by `alpha (alpha - 1)`, which is `1 / alpha` times
    this and tends to KL(p || q); `divergence.weight` can reproduce it.
    """
    if alpha == 1:
        return kl(q_loc, q_scale, p_loc, p_scale)
    distance, log_ratio = standardised(q_loc, q_scale, p_loc, p_scale)
    width = _shared_width(alpha, log_ratio)
    # Two equivalent forms, to avoid cancellation both for small alpha and for alpha near 1.
    if alpha < 0.5:
        log_width = _log_mix(alpha, -2 * log_ratio)
        spread = (alpha * log_ratio + 0.5 * log_width) / (1 - alpha)
    else:
        log_width = _log_mix(1 - alpha, 2 * log_ratio)
        spread = 0.5 * log_width / (1 - alpha) - log_ratio
    return spread.clamp(min=0) + 0.5 * alpha * distance.square() / width


def alpha_renyi(
    q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor, alpha: float
) -> Tensor:
    """`alpha` times `renyi`, the thesis's "parametrised" alphaAR (section 5.0.1)."""
    return alpha * renyi(q_loc, q_scale, p_loc, p_scale, alpha)


def alpha_divergence(
    q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor, alpha: float
) -> Tensor:
    """The alpha-divergence `(1 - I) / (alpha (1 - alpha))` (thesis, sections 4.1 and 5.0.1).

    At most `1 / (alpha (1 - alpha))` for `alpha < 1`. It tends to KL(p || q) as `alpha` goes to 0.
    """
    if alpha == 1:
        return kl(q_loc, q_scale, p_loc, p_scale)
    log_integral = (alpha - 1) * renyi(q_loc, q_scale, p_loc, p_scale, alpha)
    return torch.expm1(log_integral) / (alpha * (alpha - 1))


def hellinger(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """Squared Hellinger distance `integral (sqrt q - sqrt p)^2 / 2`, between 0 and 1.

    A quarter of the alpha-divergence of order 1/2. The thesis (section 4.1) omits the factor 1/2
    in one formula and includes it in another.
    """
    return 0.25 * alpha_divergence(q_loc, q_scale, p_loc, p_scale, 0.5)


def chi2(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """Pearson's chi-squared divergence `integral (q - p)^2 / p`.

    Twice the alpha-divergence of order 2; section 4.1 of the thesis prints half of it.
    """
    return 2 * alpha_divergence(q_loc, q_scale, p_loc, p_scale, 2.0)


def _slopes(alpha: float, loc: Tensor, scale: Tensor, precision: Tensor, form: str) -> Pair:
    """Return the derivatives of `renyi` (`form="log"`) or `alpha_divergence` (`"integral"`)."""
    p_scale = precision.rsqrt()
    distance, log_ratio = standardised(loc, scale, torch.zeros_like(p_scale), p_scale)
    width = _shared_width(alpha, log_ratio)
    lean = distance / width
    excess = _excess(log_ratio)
    factor: float | Tensor = alpha
    if form == "integral":
        # dI = I d(log I), so this is the derivative of Rényi's divergence times I / alpha.
        zero = torch.zeros_like(p_scale)
        factor = ((alpha - 1) * renyi(loc, scale, zero, p_scale, alpha)).exp()
    turn = excess / width + (alpha - 1) * (1 + excess) * lean.square()
    return factor * lean / p_scale, factor * turn / scale


@dataclass(frozen=True, kw_only=True)
class Renyi(AlphaDivergence):
    """Rényi's divergence, the thesis's AR.

    The Monte Carlo estimate is the logarithm of a mean over S samples. It is consistent but biased:
    too small on average for `alpha > 1`, too large for `alpha < 1` (Li and Turner 2016), and
    unbiased at 1.
    """

    identity_name = "bnnbench.divergences.renyi.Renyi"

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return renyi(q_loc, q_scale, p_loc, p_scale, self.alpha)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        return _slopes(self.alpha, loc, scale, prior_precision, "log")

    def estimate(self, log_ratio: Tensor) -> Tensor:
        if self.alpha == 1:
            return log_ratio.mean(0)
        tilt = self.alpha - 1
        return (torch.logsumexp(tilt * log_ratio, 0) - math.log(len(log_ratio))) / tilt


@dataclass(frozen=True, kw_only=True)
class AlphaRenyi(Renyi):
    """`alpha` times Rényi's divergence, the thesis's alphaAR."""

    identity_name = "bnnbench.divergences.renyi.AlphaRenyi"

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return alpha_renyi(q_loc, q_scale, p_loc, p_scale, self.alpha)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        d_loc, d_scale = super().partials(loc, scale, prior_precision)
        return self.alpha * d_loc, self.alpha * d_scale

    def estimate(self, log_ratio: Tensor) -> Tensor:
        return self.alpha * super().estimate(log_ratio)


def _integral_over_samples(log_ratio: Tensor, alpha: float) -> Tensor:
    """Mean of `((q / p)^(alpha - 1) - 1) / (alpha (alpha - 1))`."""
    if alpha == 1:
        return log_ratio.mean(0)
    return torch.expm1((alpha - 1) * log_ratio).mean(0) / (alpha * (alpha - 1))


@dataclass(frozen=True, kw_only=True)
class Alpha(AlphaDivergence):
    """The alpha-divergence, the thesis's A.

    The Monte Carlo estimate is a plain mean, which is unbiased. For a Gaussian prior its variance
    is finite only where `(2 alpha - 1) p_scale^2 + (2 - 2 alpha) q_scale^2 > 0`.
    """

    identity_name = "bnnbench.divergences.renyi.Alpha"

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return alpha_divergence(q_loc, q_scale, p_loc, p_scale, self.alpha)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        return _slopes(self.alpha, loc, scale, prior_precision, "integral")

    def estimate(self, log_ratio: Tensor) -> Tensor:
        return _integral_over_samples(log_ratio, self.alpha)


@dataclass(frozen=True, kw_only=True)
class ScaledAlpha(RatioDivergence):
    """An alpha-divergence of a fixed order, times a factor.

    Attributes:
        alpha: class attribute, the order.
        factor: class attribute.
    """

    alpha: ClassVar[float]
    factor: ClassVar[float]

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        d_loc, d_scale = _slopes(self.alpha, loc, scale, prior_precision, "integral")
        return self.factor * d_loc, self.factor * d_scale

    def estimate(self, log_ratio: Tensor) -> Tensor:
        return self.factor * _integral_over_samples(log_ratio, self.alpha)


@dataclass(frozen=True, kw_only=True)
class Hellinger(ScaledAlpha):
    """The squared Hellinger distance. The Monte Carlo estimate is unbiased."""

    identity_name = "bnnbench.divergences.renyi.Hellinger"
    alpha = 0.5
    factor = 0.25
    between = staticmethod(hellinger)


@dataclass(frozen=True, kw_only=True)
class ChiSquared(ScaledAlpha):
    """Pearson's chi-squared divergence. The Monte Carlo estimate is unbiased.

    Infinite, and reported as diverged, where q has at least twice the variance of the prior.
    """

    identity_name = "bnnbench.divergences.renyi.ChiSquared"
    alpha = 2.0
    factor = 2.0
    between = staticmethod(chi2)
