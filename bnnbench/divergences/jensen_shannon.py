"""Jensen-Shannon divergences: no closed form between Gaussians, so an exponentially exact sum.

With p the wider and q the narrower (the divergences are symmetric), `t = log(q / p)` and
`b = alpha / (1 - alpha)`,

    JS_alpha = -log(1 - alpha) - E_q[log(1 + b exp(-t)) + exp(-t) log(1 + b exp(t))] / 2,

whose integrand is bounded on one side and grows like a square on the other. In standard units of
the narrow Gaussian it is smooth, however wide the other is, so the trapezoidal rule converges
exponentially (Trefethen and Weideman 2014). GVI thesis, sections 4.1, 5.0.1 and 6.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from bnnbench.divergences import native_sums
from bnnbench.divergences.base import AlphaDivergence, Pair, RatioDivergence
from bnnbench.divergences.kl import jeffreys
from bnnbench.types import UserError

# Nodes, and the last of them in standard deviations: relative errors near 1e-6, and 1e-9 for what
# float64 can tell from it.
RULE = (40, 6.0)
FINE_RULE = (80, 7.0)
CPU_PIECE = 2048  # weights at once: what 40 nodes of each make still fits a core's cache
LEAST_ALPHA = 1e-3  # below, what is left after cancellation is no divergence in float32
NEAR_WIDTH, NEAR_DISTANCE = 0.1, 0.3  # log ratio of scales and distance called nearly equal


@dataclass(frozen=True)
class Integrand:
    """What is averaged under the narrow Gaussian, a function of the log ratio of the densities.

    Attributes:
        name: of the same in jensen_shannon.cpp.
        function: of the log ratio and alpha.
        bounds: between which the log ratio is kept, of alpha.
        powers: of the nodes that it is summed with: the first one, 1, or the first three.
    """

    name: str
    function: Callable[[Tensor, float], Tensor]
    bounds: Callable[[float], tuple[float, float]]
    powers: int = 1


def _rule(nodes: int, reach: float, like: Tensor) -> Pair:
    """Nodes and weights of the trapezoidal rule for a standard normal, `[K]` each."""
    nodes_ = torch.linspace(-reach, reach, nodes, device=like.device, dtype=like.dtype)
    weights = torch.exp(-0.5 * nodes_.square())
    return nodes_, weights / weights.sum()


def _narrow_and_wide(
    q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor
) -> tuple[Tensor, Tensor]:
    """Distance of the means in units of the wider scale, and log(narrow / wide) <= 0."""
    narrow, wide = torch.minimum(q_scale, p_scale), torch.maximum(q_scale, p_scale)
    return (q_loc - p_loc).abs() / wide, (narrow / wide).log()


def _terms(distance: Tensor, log_width: Tensor) -> Tensor:
    """Of `log(narrow / wide)` of the densities at x, in standard units of the narrow one.

    Returns:
        start, lean and curve of `start + lean x + curve x^2`, `[3, N]` of all elements.
    """
    start = 0.5 * distance.square() - log_width
    lean = log_width.exp() * distance
    return torch.stack([start, lean, 0.5 * torch.expm1(2 * log_width)]).flatten(1)


def _log_odds(alpha: float) -> float:
    return math.log(alpha) - math.log1p(-alpha)


def _far(log_ratio: Tensor, alpha: float) -> Tensor:
    """The integrand above: accurate unless the divergence is so small that it cancels."""
    odds = _log_odds(alpha)
    tail = (-log_ratio).exp() * softplus(log_ratio + odds)
    return -math.log1p(-alpha) - 0.5 * (softplus(odds - log_ratio) + tail)


def _near(log_ratio: Tensor, alpha: float) -> Tensor:
    """The integrand less `log(1 - alpha) (p / q - 1) / 2`, of mean 0: nowhere negative."""
    there = (-log_ratio).exp() * torch.log1p(alpha * torch.expm1(log_ratio))
    mixed = torch.log1p(alpha * torch.expm1(-log_ratio)) + there
    return (-0.5 * mixed).clamp(min=0)


def _slope(log_ratio: Tensor, alpha: float) -> Tensor:
    """The derivative of `_far` by the log ratio."""
    odds, ratio = alpha / (1 - alpha), log_ratio.exp()
    slope = torch.log1p(odds * ratio) / ratio
    if alpha != 0.5:
        slope = slope + odds / (odds + ratio) - odds / (1 + odds * ratio)
    return 0.5 * slope


FAR = Integrand("js_far", _far, lambda alpha: (-math.inf, 1e4))
NEAR = Integrand("js_near", _near, lambda alpha: (-20, 20))
# At its limits beyond -20 and about 80: the product with the odds has to stay within float32 too.
SLOPE = Integrand("js_slopes", _slope, lambda alpha: (-20, 80 - max(0.0, _log_odds(alpha))), 3)


def _moments(integrand: Integrand, terms: Tensor, rule: tuple[int, float], alpha: float) -> Tensor:
    """Sums over the nodes of the rule of the integrand times their powers.

    Returns:
        `[powers, N]`, with `[3, N]` terms of N pairs.
    """
    nodes, weights = _rule(*rule, terms)
    bounds = integrand.bounds(alpha)
    if native_sums.covers(terms):
        name, rows = integrand.name, integrand.powers
        return native_sums.summed(name, rows, terms, (nodes, weights), alpha, bounds)
    powers = torch.stack([torch.ones_like(nodes), nodes, nodes.square()])
    wanted = weights * powers[: integrand.powers]
    whole = terms.device.type != "cpu" or torch.compiler.is_compiling()
    pieces = (terms,) if whole else terms.split(CPU_PIECE, 1)
    ratios = ((powers.T @ piece).clamp(*bounds) for piece in pieces)
    return torch.cat([wanted @ integrand.function(ratio, alpha) for ratio in ratios], 1)


def alpha_js(
    q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor, alpha: float
) -> Tensor:
    """`(K(q || p) + K(p || q)) / 2`, `K(q || p) = KL(q || (1 - alpha) q + alpha p)`, in nats.

    Nielsen (2010), "A family of statistical symmetric divergences based on Jensen's inequality";
    thesis, section 6.2. At most `-log(1 - alpha)`; `js` at 1/2, half of `jeffreys` at 1. Relative
    error in float64 below 1e-6 for `alpha` from 0.01 to 0.99; 2e-5 at 0.001, and worse below.
    In float32 1e-2 at 0.001: `AlphaJS` takes no less than that.
    """
    if alpha == 1:
        return 0.5 * jeffreys(q_loc, q_scale, p_loc, p_scale)
    distance, log_width = _narrow_and_wide(q_loc, q_scale, p_loc, p_scale)
    near = (log_width > -NEAR_WIDTH) & (distance < NEAR_DISTANCE)
    rule = FINE_RULE if distance.dtype == torch.float64 else RULE
    found = torch.zeros_like(distance)
    for integrand, where in ((NEAR, near), (FAR, ~near)):
        terms = _terms(distance[where], log_width[where])
        found[where] = _moments(integrand, terms, rule, alpha)[0]
    return found.clamp(min=0)


def js(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """Jensen-Shannon, `(KL(q || m) + KL(p || m)) / 2` with `m = (q + p) / 2`, in nats.

    At most log 2 (Lin 1991). The thesis leaves out the half: `divergence.weight=2` gives its
    scale.
    """
    return alpha_js(q_loc, q_scale, p_loc, p_scale, 0.5)


def _slopes(alpha: float, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
    """Derivatives of `alpha_js`, from three moments of the integrand's derivative.

    The log ratio is a quadratic in the nodes and the moments are sums over them: two products of
    matrices, with little between, since this runs at every step for every weight. A network of
    3 x 100 units takes one CPU core a millisecond, and four without native code.
    """
    p_scale = prior_precision.rsqrt()
    distance, log_width = _narrow_and_wide(loc, scale, torch.zeros_like(p_scale), p_scale)
    narrowness = log_width.exp()
    terms = _terms(distance, log_width)
    zeroth, first, second = _moments(SLOPE, terms, RULE, alpha).view(3, *distance.shape)
    lean = terms[1].view_as(distance)
    d_distance = narrowness * first + distance * zeroth
    d_width = lean * first + narrowness.square() * second - zeroth
    wide = torch.maximum(scale, p_scale)
    d_wide = -(d_width + distance * d_distance)
    d_scale = torch.where(scale < p_scale, d_width, d_wide) / scale
    return loc.sign() * d_distance / wide, d_scale


@dataclass(frozen=True, kw_only=True)
class AlphaJS(AlphaDivergence):
    """The alpha-Jensen-Shannon divergence, `alpha` from 0.001 to 1; unbiased in Monte Carlo."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not LEAST_ALPHA <= self.alpha <= 1:
            raise UserError(
                f"divergence.alpha must be a number of at least {LEAST_ALPHA:g} and at most 1 with "
                f"divergence={self.label}, not {self.alpha!r}."
            )

    @property
    def native(self) -> bool:
        return self.estimator == "closed" and self.alpha < 1

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return alpha_js(q_loc, q_scale, p_loc, p_scale, self.alpha)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        if self.alpha == 1:
            return super().partials(loc, scale, prior_precision)
        return _slopes(self.alpha, loc, scale, prior_precision)

    def over_samples(self, log_ratio: Tensor) -> Tensor:
        if self.alpha == 1:
            return (-0.5 * log_ratio * torch.expm1(-log_ratio)).mean(0)
        return _far(log_ratio, self.alpha).mean(0)


@dataclass(frozen=True, kw_only=True)
class JS(RatioDivergence):
    """The Jensen-Shannon divergence; its Monte Carlo mean is unbiased and bounded by log 2."""

    @property
    def native(self) -> bool:
        return self.estimator == "closed"

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return js(q_loc, q_scale, p_loc, p_scale)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        return _slopes(0.5, loc, scale, prior_precision)

    def over_samples(self, log_ratio: Tensor) -> Tensor:
        return _far(log_ratio, 0.5).mean(0)
