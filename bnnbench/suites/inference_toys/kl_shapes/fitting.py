"""The Gaussian that is nearest to a mixture, in the sense of any alpha-divergence.

Book, sections 3.2.2.1 and 3.2.3.3; p is the mixture and q the Gaussian. Its order runs from the
reverse KL divergence at -1 to the forward one at 1. The divergence of order `alpha` here is the
alpha-divergence `(1 - I_a) / (a (1 - a))` with `I_a = integral p^a q^(1 - a)` of the order
`a = (1 + alpha) / 2`, as the GVI thesis writes it: `alpha = 2 a - 1` for arguments in the same
order. `bnnbench.divergences` has q first, so there the order is `(1 - alpha) / 2`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, ndtr

from bnnbench.suites.inference_toys.kl_shapes.mixture import (
    LOG_WEIGHTS,
    NODES,
    WIDEST,
    Mixture,
    Values,
    log_density_at_nodes,
    log_normal,
)
from bnnbench.suites.inference_toys.kl_shapes.tables import FORWARD, REVERSE

Edges = tuple[float, float]

FLAT = 1e-5
"""Of the objective's slope in units of q's deviation, up to which a point counts as an optimum."""

SETTLED = 7
"""Decimals of a mean or deviation that the minimiser finds again from another start."""

SAME = 4
"""Decimals to which two optima agree that are one."""

VALLEY = 0.01
"""Of p's highest density: where there is less, p is as good as zero."""


@dataclass(frozen=True)
class Fit:
    """A Gaussian at a local optimum.

    Attributes:
        order: of the divergence.
        loc: mean of q.
        scale: standard deviation of q.
        divergence: from p, `divergence(p, loc, scale, order)`.
        at_edge: whether q is as wide as it can be without an infinite divergence, and would be
            closer if it could be wider; only below order -1.
    """

    order: float
    loc: float
    scale: float
    divergence: float
    at_edge: bool = False


def exponents(order: float) -> tuple[float, float]:
    """Of p and of q under the integral of eq. 3.68."""
    return (1 + order) / 2, (1 - order) / 2


def divergence(p: Mixture, loc: float, scale: float, order: float) -> float:
    """The alpha-divergence from p to `Normal(loc, scale^2)` (eq. 3.68), nats at orders -1 and 1.

        D = 4 / (1 - alpha^2) (1 - integral p^((1 + alpha) / 2) q^((1 - alpha) / 2))

    with its limits KL(q || p) at -1 and KL(p || q) at 1. Infinite where the integral is.
    """
    if abs(order) == 1:
        return _kl(p, loc, math.log(scale), order)[0]
    low, high = _log_scales(p, order)
    if not low <= math.log(scale) <= high:
        return math.inf
    return float(4 / (order**2 - 1) * np.expm1(_log_integral(p, loc, scale, order)[0]))


def local_optima(p: Mixture, order: float) -> tuple[Fit, ...]:
    """Every Gaussian that nothing near it is closer to p than, the closest first.

    Found from a start on each part and on the whole. Of two that are equally close, as those of a
    symmetric mixture are, the one further to the right comes first.
    """
    found: dict[tuple[float, float], Fit] = {}
    edges = _searched(p, order)
    reach = p.separation + p.widest
    for start in _starts(p, edges):
        ended = minimize(
            lambda at: _objective(p, float(at[0]), float(at[1]), order),
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-reach, reach), edges],
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500},
        )
        loc, scale = round(float(ended.x[0]), SETTLED) + 0.0, math.exp(ended.x[1])
        along, across = ended.jac * [scale, 1.0]
        at_edge = bool(ended.x[1] == _log_scales(p, order)[1] and across < -FLAT)
        if abs(along) < FLAT and (at_edge or abs(across) < FLAT):
            fit = Fit(order, loc, scale, divergence(p, loc, scale, order), at_edge)
            found.setdefault((round(loc, SAME), round(scale, SAME)), fit)
    return tuple(sorted(found.values(), key=lambda fit: (round(fit.divergence, 9), -fit.loc)))


def mass_where_p_has_none(p: Mixture, fit: Fit) -> float:
    """The probability that q puts where p has less than `VALLEY` of its highest density.

    To some thousandths, since the edge of such a valley falls between nodes.
    """
    log_p = log_density_at_nodes(p)
    low = log_p < log_p.max() + math.log(VALLEY)
    return float(np.exp(log_normal(NODES, fit.loc, fit.scale) + LOG_WEIGHTS)[low].sum())


def least_mass_on_a_part(p: Mixture, fit: Fit) -> float:
    """The least probability that q puts within two deviations of a part of p."""
    masses = []
    for part in p.parts:
        low, high = ((part.loc + side * 2 * part.scale - fit.loc) / fit.scale for side in (-1, 1))
        masses.append(float(ndtr(high) - ndtr(low)))
    return min(masses)


def _starts(p: Mixture, edges: Edges) -> Iterator[tuple[float, float]]:
    """Means and log standard deviations; beside the axis of symmetry, where slopes vanish."""
    for part in p.parts:
        yield part.loc, _within(edges, math.log(part.scale))
    for side in (-0.1, 0.1):
        spread = _within(edges, math.log(p.standard_deviation))
        yield p.mean + side * p.standard_deviation, spread


def _within(edges: Edges, log_scale: float) -> float:
    return min(max(log_scale, edges[0]), edges[1])


def _searched(p: Mixture, order: float) -> Edges:
    """Between which logarithms of q's deviation an optimum is looked for."""
    low, high = _log_scales(p, order)
    narrowest = min(part.scale for part in p.parts)
    return max(low, math.log(narrowest / 10)), min(high, math.log(10 * p.standard_deviation))


def _log_scales(p: Mixture, order: float) -> Edges:
    """Between which logarithms of q's deviation the integral is finite."""
    of_p, of_q = exponents(order)
    tails = of_p / p.widest**2 - WIDEST**-2
    if of_p < 0:
        return -math.inf, 0.5 * math.log(of_q / -tails)
    if of_q < 0:
        return 0.5 * math.log(-of_q / tails), math.inf
    return -math.inf, math.inf


def _objective(p: Mixture, loc: float, log_scale: float, order: float) -> tuple[float, Values]:
    """What rises and falls with the divergence, and its slopes in `loc` and `log_scale`.

    `4 log I / (alpha^2 - 1)`, a Rényi divergence, which neither overflows nor runs flat far from
    p, and goes to the same KL divergences.
    """
    if abs(order) == 1:
        return _kl(p, loc, log_scale, order)
    value, weights = _log_integral(p, loc, math.exp(log_scale), order)
    factor = 4 / (order**2 - 1)
    slopes = exponents(order)[1] * _mean_score(weights, loc, math.exp(log_scale))
    return factor * value, factor * slopes


def _log_integral(p: Mixture, loc: float, scale: float, order: float) -> tuple[float, Values]:
    """`log integral p^a q^b`, and the integrand over the nodes as weights that sum to 1."""
    of_p, of_q = exponents(order)
    terms = of_p * log_density_at_nodes(p) + of_q * log_normal(NODES, loc, scale) + LOG_WEIGHTS
    total = float(logsumexp(terms))
    return total, np.exp(terms - total)


def _kl(p: Mixture, loc: float, log_scale: float, order: float) -> tuple[float, Values]:
    """KL(q || p) or KL(p || q), and its slopes in `loc` and `log_scale`."""
    scale = math.exp(log_scale)
    log_p, log_q = log_density_at_nodes(p), log_normal(NODES, loc, scale)
    if order == FORWARD:
        weights = np.exp(log_p + LOG_WEIGHTS)
        return float(weights @ (log_p - log_q)), -_mean_score(weights, loc, scale)
    assert order == REVERSE
    weights = np.exp(log_q + LOG_WEIGHTS)
    ratio = log_q - log_p
    return float(weights @ ratio), _mean_score(weights * ratio, loc, scale)


def _mean_score(weights: Values, loc: float, scale: float) -> Values:
    """The slopes of `log q` in `loc` and `log_scale`, summed with these weights over the nodes."""
    away = (NODES - loc) / scale
    return np.array([weights @ away / scale, weights @ (away**2 - 1)])
