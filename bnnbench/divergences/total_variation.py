"""Total variation distance between Gaussians, exact, and the GVI thesis's two bounds of it.

GVI thesis, sections 4.1 and 5.0.1. The thesis states that there is no closed form, but the
densities cross at most twice, so error functions give one. The bounds are those of Devroye,
Mehrabian and Reddad (2018), theorem 1.3, with the prior's scale as the unit.

The thesis swaps the formulas of the two bounds: it prints the lower bound under the name of the
upper one (TVU) and the upper bound as TVL. Here `tv_lower` is the lower bound and `tv_upper` the
upper one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from bnnbench.divergences.base import Divergence, Pair, RatioDivergence, standardised

MAX_CROSSING = 1e3  # in standard deviations; the probability mass beyond is zero


class Crossings(NamedTuple):
    """The ends of the interval where the narrower density exceeds the wider, in units of either.

    The axis points from the mean of the wider Gaussian to that of the narrower.
    """

    narrow_low: Tensor
    narrow_high: Tensor
    wide_low: Tensor
    wide_high: Tensor


def _crossings(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Crossings:
    """Return the roots of a quadratic, in a form that is stable for equal scales."""
    narrow, wide = torch.minimum(q_scale, p_scale), torch.maximum(q_scale, p_scale)
    distance, ratio = (q_loc - p_loc).abs() / wide, narrow / wide
    width = 2 * (wide / narrow).log()
    curve = -torch.expm1(-width)
    square = distance.square() + width * curve
    positive = square > 0
    root = torch.where(positive, torch.where(positive, square, 1).sqrt(), 0)
    reach = ratio * distance + root
    low = -(distance.square() + width) / torch.where(positive, reach, 1)
    curved = curve > 0
    high = torch.where(curved, reach / torch.where(curved, curve, 1), MAX_CROSSING).clamp(
        max=MAX_CROSSING
    )
    low = low.clamp(min=-MAX_CROSSING)
    return Crossings(low, high, ratio * low + distance, ratio * high + distance)


def tv(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """Total variation distance `integral |q - p| / 2`, between 0 and 1 (thesis, section 4.1)."""
    at = _crossings(q_loc, q_scale, p_loc, p_scale)
    mass: Callable[[Tensor], Tensor] = torch.special.ndtr
    high = mass(at.narrow_high) - mass(at.wide_high)
    return (high + (mass(at.wide_low) - mass(at.narrow_low))).clamp(0, 1)


def tv_lower(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """A lower bound of `tv`, at most 1/200; the thesis prints this formula as TVU.

    `min(1, max(|p_scale^2 - q_scale^2| / p_scale^2, 40 |q_loc - p_loc| / p_scale)) / 200`. Its
    gradient is 0 where it equals 1/200.
    """
    distance, log_ratio = standardised(q_loc, q_scale, p_loc, p_scale)
    spread = torch.expm1(2 * log_ratio).abs()
    return torch.maximum(spread, 40 * distance.abs()).clamp(max=1) / 200


def tv_upper(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """An upper bound of `tv`, itself unbounded; the thesis prints this formula as TVL.

    `3 |p_scale^2 - q_scale^2| / (2 p_scale^2) + |q_loc - p_loc| / (2 p_scale)`.
    """
    distance, log_ratio = standardised(q_loc, q_scale, p_loc, p_scale)
    return 1.5 * torch.expm1(2 * log_ratio).abs() + 0.5 * distance.abs()


@dataclass(frozen=True, kw_only=True)
class TV(RatioDivergence):
    """The total variation distance. Its gradient where q is the prior, a kink, is set to 0.

    The Monte Carlo estimate is the mean of `max(0, 1 - p / q)`, which is unbiased.
    """

    identity_name = "bnnbench.divergences.total_variation.TV"
    between = staticmethod(tv)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        p_scale = prior_precision.rsqrt()
        at = _crossings(loc, scale, torch.zeros_like(p_scale), p_scale)
        # The densities are equal at the crossings, so their derivatives drop out.
        narrow = scale < p_scale
        low = torch.where(narrow, at.narrow_low, at.wide_low)
        high = torch.where(narrow, at.narrow_high, at.wide_high)
        at_low, at_high = _density(low), _density(high)
        d_scale = torch.where(narrow, 1, -1) * (low * at_low - high * at_high) / scale
        return loc.sign() * (at_low - at_high) / scale, d_scale

    def estimate(self, log_ratio: Tensor) -> Tensor:
        return (-torch.expm1(-log_ratio)).clamp(min=0).mean(0)


def _density(x: Tensor) -> Tensor:
    return torch.exp(-0.5 * x.square()) * 0.3989422804014327


@dataclass(frozen=True, kw_only=True)
class TVLower(Divergence):
    """The lower bound of the total variation distance; the thesis prints it as TVU."""

    identity_name = "bnnbench.divergences.total_variation.TVLower"
    between = staticmethod(tv_lower)


@dataclass(frozen=True, kw_only=True)
class TVUpper(Divergence):
    """The upper bound of the total variation distance; the thesis prints it as TVL."""

    identity_name = "bnnbench.divergences.total_variation.TVUpper"
    between = staticmethod(tv_upper)
