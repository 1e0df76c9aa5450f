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

from bnnbench.divergences.base import AlphaDivergence, Pair, RatioDivergence
from bnnbench.divergences.kl import jeffreys
from bnnbench.types import UserError

# Nodes, and the last of them in standard deviations: relative errors near 1e-9 and 1e-6.
VALUE_RULE = (80, 7.0)
SLOPE_RULE = (40, 6.0)
CPU_PIECE = 2048  # weights at once: what 40 nodes of each make still fits a core's cache
LEAST_ALPHA = 1e-3  # below, what is left after cancellation is no divergence in float32
NEAR_WIDTH, NEAR_DISTANCE = 0.1, 0.3  # log ratio of scales and distance called nearly equal


Integrand = Callable[[Tensor, float], Tensor]


def _rule(nodes: int, reach: float, like: Tensor) -> Pair:
    """Nodes and weights of the trapezoidal rule for a standard normal, `[K, 1, ..., 1]`."""
    nodes_ = torch.linspace(-reach, reach, nodes, device=like.device, dtype=like.dtype)
    weights = torch.exp(-0.5 * nodes_.square())
    shape = (-1,) + (1,) * like.dim()
    return nodes_.view(shape), (weights / weights.sum()).view(shape)


def _narrow_and_wide(
    q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor
) -> tuple[Tensor, Tensor]:
    """Distance of the means in units of the wider scale, and log(narrow / wide) <= 0."""
    narrow, wide = torch.minimum(q_scale, p_scale), torch.maximum(q_scale, p_scale)
    return (q_loc - p_loc).abs() / wide, (narrow / wide).log()


def _log_ratio_at(nodes: Tensor, distance: Tensor, log_width: Tensor) -> Tensor:
    """`log(narrow / wide)` of the densities, at standard units of the narrow one."""
    curve = 0.5 * torch.expm1(2 * log_width)
    lean = log_width.exp() * distance
    return 0.5 * distance.square() - log_width + nodes * (lean + curve * nodes)


def _far(log_ratio: Tensor, alpha: float) -> Tensor:
    """The integrand above: accurate unless the divergence is so small that it cancels."""
    odds = math.log(alpha) - math.log1p(-alpha)
    tail = (-log_ratio).exp() * softplus(log_ratio + odds)
    return -math.log1p(-alpha) - 0.5 * (softplus(odds - log_ratio) + tail)


def _near(log_ratio: Tensor, alpha: float) -> Tensor:
    """The integrand less `log(1 - alpha) (p / q - 1) / 2`, of mean 0: nowhere negative."""
    t = log_ratio.clamp(-20, 20)
    mixed = torch.log1p(alpha * torch.expm1(-t)) + (-t).exp() * torch.log1p(alpha * torch.expm1(t))
    return (-0.5 * mixed).clamp(min=0)


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
    found = torch.zeros_like(distance)
    for integrand, where in ((_near, near), (_far, ~near)):
        found[where] = _mean(integrand, distance[where], log_width[where], alpha)
    return found.clamp(min=0)


def _mean(integrand: Integrand, distance: Tensor, log_width: Tensor, alpha: float) -> Tensor:
    """Under the narrow Gaussian, of pairs `[N]`."""
    nodes, weights = _rule(*VALUE_RULE, distance)
    sizes = CPU_PIECE if distance.device.type == "cpu" else max(1, len(distance))
    pieces = zip(distance.split(sizes), log_width.split(sizes), strict=True)
    ratios = (_log_ratio_at(nodes, *piece).clamp(max=1e4) for piece in pieces)
    return torch.cat([weights.view(-1) @ integrand(ratio, alpha) for ratio in ratios])


def js(q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
    """Jensen-Shannon, `(KL(q || m) + KL(p || m)) / 2` with `m = (q + p) / 2`, in nats.

    At most log 2 (Lin 1991). The thesis leaves out the half: `divergence.weight=2` gives its
    scale.
    """
    return alpha_js(q_loc, q_scale, p_loc, p_scale, 0.5)


def _slope(log_ratio: Tensor, alpha: float) -> Tensor:
    """Twice the derivative of `_far`, at its limits beyond -20 and about 80."""
    odds = alpha / (1 - alpha)
    # The product with the odds has to stay within float32 as well.
    ratio = log_ratio.clamp(-20, 80 - max(0.0, math.log(odds))).exp()
    slope = torch.log1p(odds * ratio) / ratio
    return slope if alpha == 0.5 else slope + odds / (odds + ratio) - odds / (1 + odds * ratio)


def _slopes(alpha: float, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
    """Derivatives of `alpha_js`, from three moments of the integrand's derivative.

    The log ratio is a quadratic in the nodes and the moments are sums over them: two products of
    matrices, with little between, since this runs at every step for every weight: on one CPU core
    some 6 million weights a second (a network of 3 x 100 units in 4 ms).
    """
    p_scale = prior_precision.rsqrt()
    distance, log_width = _narrow_and_wide(loc, scale, torch.zeros_like(p_scale), p_scale)
    narrowness = log_width.exp()
    start, lean = 0.5 * distance.square() - log_width, narrowness * distance
    quadratic = torch.stack([start, lean, 0.5 * torch.expm1(2 * log_width)]).flatten(1)
    nodes, weights = (column.view(-1) for column in _rule(*SLOPE_RULE, distance))
    powers = torch.stack([torch.ones_like(nodes), nodes, nodes.square()])
    whole = loc.device.type != "cpu" or torch.compiler.is_compiling()
    pieces = (quadratic,) if whole else quadratic.split(CPU_PIECE, 1)
    moments = [0.5 * weights * powers @ _slope(powers.T @ piece, alpha) for piece in pieces]
    zeroth, first, second = torch.cat(moments, 1).view(3, *distance.shape)
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

    def between(self, q_loc: Tensor, q_scale: Tensor, p_loc: Tensor, p_scale: Tensor) -> Tensor:
        return js(q_loc, q_scale, p_loc, p_scale)

    def partials(self, loc: Tensor, scale: Tensor, prior_precision: Tensor) -> Pair:
        return _slopes(0.5, loc, scale, prior_precision)

    def over_samples(self, log_ratio: Tensor) -> Tensor:
        return _far(log_ratio, 0.5).mean(0)
