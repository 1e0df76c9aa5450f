"""Jensen-Shannon divergences between Gaussians, by quadrature (they have no closed form).

The divergences are symmetric, so let p be the wider and q the narrower Gaussian. With
`t = log(q / p)` and `b = alpha / (1 - alpha)`,

    JS_alpha = -log(1 - alpha) - E_q[log(1 + b exp(-t)) + exp(-t) log(1 + b exp(t))] / 2.

The integrand is bounded on one side and grows quadratically on the other. In standard units of the
narrow Gaussian it is smooth however wide the other is, so the trapezoidal rule converges
exponentially (Trefethen and Weideman 2014). GVI thesis, sections 4.1, 5.0.1 and 6.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor
from torch.nn.functional import softplus

from bnnbench.constraints import Between
from bnnbench.divergences.base import AlphaDivergence, Pair, RatioDivergence
from bnnbench.divergences.kl import jeffreys

# Number of nodes, and the last node in standard deviations. The relative error is about 1e-6 for
# the first rule and 1e-9 for the second, which is for float64.
QUADRATURE = (40, 6.0)
FINE_QUADRATURE = (80, 7.0)
CPU_CHUNK = 2048  # weights per chunk: with 40 nodes each they fit in the cache of a core
MIN_ALPHA = 1e-3  # below, cancellation leaves no correct digits in float32
NEAR_WIDTH, NEAR_DISTANCE = 0.1, 0.3  # log ratio of scales, and distance, of nearly equal Gaussians


@dataclass(frozen=True)
class Integrand:
    """A function of the log density ratio whose mean under the narrow Gaussian is computed.

    Attributes:
        function: maps the log ratio and alpha to the integrand.
        bounds: maps alpha to the interval to which the log ratio is clamped.
        powers: how many powers of the nodes (1, x, x^2) the integrand is multiplied with.
    """

    function: Callable[[Tensor, float], Tensor]
    bounds: Callable[[float], tuple[float, float]]
    powers: int = 1


def _trapezoidal_rule(nodes: int, reach: float, like: Tensor) -> Pair:
    """Return nodes and weights of the trapezoidal rule for a standard normal, `[K]` each."""
    nodes_ = torch.linspace(-reach, reach, nodes, device=like.device, dtype=like.dtype)
    weights = torch.exp(-0.5 * nodes_.square())
    return nodes_, weights / weights.sum()


def _distance_and_log_width(
    q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the distance of the means in units of the wider scale, and log(narrow / wide) <= 0."""
    narrow, wide = torch.minimum(q_scale, p_scale), torch.maximum(q_scale, p_scale)
    return (q_loc - p_loc).abs() / wide, (narrow / wide).log()


def _terms(distance: Tensor, log_width: Tensor) -> Tensor:
    """Return the coefficients of the log density ratio, narrow over wide, a quadratic.

    Its argument is in standard units of the narrow Gaussian.

    Returns:
        The constant, linear and quadratic coefficients, `[3, N]`.
    """
    constant = 0.5 * distance.square() - log_width
    linear = log_width.exp() * distance
    return torch.stack([constant, linear, 0.5 * torch.expm1(2 * log_width)]).flatten(1)


def _log_odds(alpha: float) -> float:
    return math.log(alpha) - math.log1p(-alpha)


def _far(log_ratio: Tensor, alpha: float) -> Tensor:
    """The integrand above; accurate unless the divergence is so small that terms cancel."""
    odds = _log_odds(alpha)
    tail = (-log_ratio).exp() * softplus(log_ratio + odds)
    return -math.log1p(-alpha) - 0.5 * (softplus(odds - log_ratio) + tail)


def _near(log_ratio: Tensor, alpha: float) -> Tensor:
    """The integrand minus `log(1 - alpha) (p / q - 1) / 2`, which has mean 0: never negative."""
    reverse = (-log_ratio).exp() * torch.log1p(alpha * torch.expm1(log_ratio))
    mixed = torch.log1p(alpha * torch.expm1(-log_ratio)) + reverse
    return (-0.5 * mixed).clamp(min=0)


def _slope(log_ratio: Tensor, alpha: float) -> Tensor:
    """The derivative of `_far` with respect to the log ratio."""
    odds, ratio = alpha / (1 - alpha), log_ratio.exp()
    slope = torch.log1p(odds * ratio) / ratio
    if alpha != 0.5:
        slope = slope + odds / (odds + ratio) - odds / (1 + odds * ratio)
    return 0.5 * slope


FAR = Integrand(_far, lambda alpha: (-math.inf, 1e4))
NEAR = Integrand(_near, lambda alpha: (-20, 20))
# Beyond -20 and about 80 it is at its limits. Its product with the odds must fit into float32 too.
SLOPE = Integrand(_slope, lambda alpha: (-20, 80 - max(0.0, _log_odds(alpha))), 3)


def _moments(integrand: Integrand, terms: Tensor, rule: tuple[int, float], alpha: float) -> Tensor:
    """Sum the integrand times each power of the nodes.

    Args:
        integrand: the function.
        terms: `[3, N]`, coefficients of the log ratio of N pairs.
        rule: as for `_trapezoidal_rule`.
        alpha: order of the divergence.

    Returns:
        `[powers, N]`.
    """
    nodes, weights = _trapezoidal_rule(*rule, terms)
    bounds = integrand.bounds(alpha)
    powers = torch.stack([torch.ones_like(nodes), nodes, nodes.square()])
    weighted_powers = weights * powers[: integrand.powers]
    in_one_chunk = terms.device.type != "cpu" or torch.compiler.is_compiling()
    chunks = (terms,) if in_one_chunk else torch.split(terms, CPU_CHUNK, 1)
    ratios = ((powers.T @ chunk).clamp(*bounds) for chunk in chunks)
    return torch.cat([weighted_powers @ integrand.function(ratio, alpha) for ratio in ratios], 1)


def alpha_js(
    q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor, alpha: float
) -> Tensor:
    """`(K(q || p) + K(p || q)) / 2`, `K(q || p) = KL(q || (1 - alpha) q + alpha p)`, in nats.

    Nielsen (2010), "A family of statistical symmetric divergences based on Jensen's inequality";
    thesis, section 6.2. At most `-log(1 - alpha)`; equal to `js` at 1/2 and to half of `jeffreys`
    at 1. The relative error in float64 is below 1e-6 for `alpha` from 0.01 to 0.99, and 2e-5 at
    0.001. In float32 it is 1e-2 at 0.001, the smallest value that `AlphaJS` accepts.
    """
    if alpha == 1:
        return 0.5 * jeffreys(q_loc, q_scale, p_loc, p_scale)
    distance, log_width = _distance_and_log_width(q_loc, q_scale, p_loc, p_scale)
    near = (log_width > -NEAR_WIDTH) & (distance < NEAR_DISTANCE)
    rule = FINE_QUADRATURE if distance.dtype == torch.float64 else QUADRATURE
    divergence = torch.zeros_like(distance)
    for integrand, where in ((NEAR, near), (FAR, ~near)):
        terms = _terms(distance[where], log_width[where])
        divergence[where] = _moments(integrand, terms, rule, alpha)[0]
    return divergence.clamp(min=0)


def js(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """Jensen-Shannon, `(KL(q || m) + KL(p || m)) / 2` with `m = (q + p) / 2`, in nats.

    At most log 2 (Lin 1991). The thesis omits the factor 1/2; `divergence.weight=2` restores its
    scale.
    """
    return alpha_js(q_loc, q_scale, p_loc, p_scale, 0.5)


def _slopes(alpha: float, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
    """Return the derivatives of `alpha_js`, from three moments of the integrand's derivative.

    This runs for every weight at every step, so it amounts to two matrix products: one for the log
    ratios, quadratic in the nodes, and one for the moments. A network of 3 x 100 units takes four
    milliseconds on one CPU core.
    """
    p_scale = prior_precision.rsqrt()
    distance, log_width = _distance_and_log_width(loc, scale, torch.zeros_like(p_scale), p_scale)
    narrowness = log_width.exp()
    terms = _terms(distance, log_width)
    zeroth, first, second = _moments(SLOPE, terms, QUADRATURE, alpha).view(3, *distance.shape)
    linear = terms[1].view_as(distance)
    d_distance = narrowness * first + distance * zeroth
    d_width = linear * first + narrowness.square() * second - zeroth
    wide = torch.maximum(scale, p_scale)
    d_wide = -(d_width + distance * d_distance)
    d_scale = torch.where(scale < p_scale, d_width, d_wide) / scale
    return loc.sign() * d_distance / wide, d_scale


@dataclass(frozen=True, kw_only=True)
class AlphaJS(AlphaDivergence):
    """The alpha-Jensen-Shannon divergence, `alpha` from 0.001 to 1.

    The Monte Carlo estimate is unbiased.
    """

    identity_name = "bnnbench.divergences.jensen_shannon.AlphaJS"
    alpha: Annotated[float, Between(MIN_ALPHA, 1, low_included=True, high_included=True)]

    @property
    def benefits_from_compile(self) -> bool:
        return self.alpha == 1 or self.estimator != "closed"

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return alpha_js(q_loc, q_scale, p_loc, p_scale, self.alpha)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        if self.alpha == 1:
            return super().partials(loc, scale, prior_precision)
        return _slopes(self.alpha, loc, scale, prior_precision)

    def estimate(self, log_ratio: Tensor) -> Tensor:
        if self.alpha == 1:
            return (-0.5 * log_ratio * torch.expm1(-log_ratio)).mean(0)
        return _far(log_ratio, self.alpha).mean(0)


@dataclass(frozen=True, kw_only=True)
class JS(RatioDivergence):
    """The Jensen-Shannon divergence. The Monte Carlo estimate is unbiased and at most log 2."""

    identity_name = "bnnbench.divergences.jensen_shannon.JS"
    between = staticmethod(js)

    @property
    def benefits_from_compile(self) -> bool:
        return self.estimator != "closed"  # a few operations on large tensors

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        return _slopes(0.5, loc, scale, prior_precision)

    def estimate(self, log_ratio: Tensor) -> Tensor:
        return _far(log_ratio, 0.5).mean(0)
