"""Gaussians fitted to mixtures by alpha-divergences, and factorised ones to a correlated pair.

Book, sections 3.2.1.3, 3.2.2.1 and 3.2.3.3, Figs. 3.5, 3.7, 3.9 and 3.12. The book draws these
figures and prints no numbers; the mixtures here are ours.

p is the mixture and q the Gaussian. Order -1 is the reverse KL divergence and order 1 the forward
KL divergence. The divergence of order `alpha` here is the alpha-divergence
`(1 - I_a) / (a (1 - a))` with `I_a = integral p^a q^(1 - a)` of the order `a = (1 + alpha) / 2`, as
in the GVI thesis: `alpha = 2 a - 1` for arguments in the same order. `bnnbench.divergences` has q
first, so its order is `(1 - alpha) / 2`.

The last functions approximate two correlated variables, `p = Normal(0, covariance)`, by independent
ones, `q = Normal(0, diag(variance))` (sections 3.2.1.3 and 3.2.2.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, ndtr

from bnnbench.constraints import Between, ListOf
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer

FITS, FACTORISED = "fits", "factorised"

REVERSE, HELLINGER, FORWARD = -1.0, 0.0, 1.0
"""Orders of the named alpha-divergences, in the book's convention."""

ORDER_NAMES = {REVERSE: "reverse KL", HELLINGER: "Hellinger", FORWARD: "forward KL"}

MEAN, SCALE = "mean of q", "standard deviation of q"

PAIR = "correlated-pair"
"""Name of the unit with the correlated pair; all others are mixtures."""


@dataclass(frozen=True, kw_only=True)
class KLShapes(TableExperiment):
    """Fits a Gaussian q to each mixture p by each divergence, with all local optima.

    The mixtures are `weight N(-separation, 1) + (1 - weight) N(separation, scale^2)`, in all
    combinations. The experiment is deterministic.

    See `configs/experiment` for the settings.
    """

    identity_name = "bnnbench.suites.inference_toys.kl_shapes.experiment.KLShapes"
    separations: Annotated[tuple[float, ...], ListOf(Between(0, 8, low_included=True))]
    weights: Annotated[tuple[float, ...], ListOf(Between(0, 1))]
    scales: Annotated[tuple[float, ...], ListOf(Between(0.25, 10, low_included=True))]
    orders: Annotated[tuple[float, ...], ListOf(Between(-10, 10))]
    correlation: Annotated[float, Between(0, 1)]
    kind: ClassVar[str] = "kl_shapes"
    name: ClassVar[str] = "KL shapes"
    unit_noun: ClassVar[str] = "shape"
    folder_settings: ClassVar[tuple[str, ...]] = ("correlation",)

    def cases(self) -> Mapping[str, BimodalTarget | None]:
        """Return the mixtures, and None for the correlated pair."""
        settings = product(self.weights, self.scales, self.separations)
        mixtures = [
            BimodalTarget(separation, weight, scale) for weight, scale, separation in settings
        ]
        return {**{f"mixture-{k}": p for k, p in enumerate(mixtures)}, PAIR: None}

    def tables(self, case: BimodalTarget | None) -> Tables:
        if case is None:
            return pair_tables(self.correlation)
        orders = sorted({*self.orders, *ORDER_NAMES})
        return mixture_tables(case, orders, self._in_answers(case))

    def _in_answers(self, p: BimodalTarget) -> bool:
        """Return whether a mixture is in the answers: the first kind, others if well separated."""
        first = (p.weight, p.scale) == (self.weights[0], self.scales[0])
        gaussian = p.separation == 0 and p.scale == 1
        return not gaussian and (first or p.separation == max(self.separations))


def mixture_tables(p: BimodalTarget, orders: Sequence[float], in_answers: bool) -> Tables:
    """Return the local optima of every order for a mixture, and the answers about the best.

    The orders include those in `ORDER_NAMES`.
    """
    table = pd.DataFrame(
        {
            "mixture": p.name,
            "separation": p.separation,
            "weight": p.weight,
            "component_scale": p.scale,
            "order": order,
            "rank": rank,
            "loc": fit.loc,
            "scale": fit.scale,
            "divergence": fit.divergence,
            "mass_outside": mass_outside(p, fit),
            "min_component_mass": min_component_mass(p, fit),
        }
        for order in orders
        for rank, fit in enumerate(local_optima(p, order))
    )
    best = table[table["rank"] == 0].set_index("order")
    answers = [Answer(MEAN, ORDER_NAMES[REVERSE], best["loc"][REVERSE], p.name)]
    for order, name in ORDER_NAMES.items():
        exact = p.standard_deviation if order == FORWARD else math.nan
        answers.append(Answer(SCALE, name, best["scale"][order], p.name, exact=exact))
    return {ANSWERS: answers if in_answers else [], FITS: table}


def pair_tables(correlation: float) -> Tables:
    """Return the tables of a correlated pair, with closed forms as exact values."""
    p, setting = covariance_matrix(correlation), f"correlation {correlation:g}"
    minimum = -0.5 * math.log1p(-(correlation**2))  # in both directions
    answers, factorised = [], []
    for order, exact in ((REVERSE, 1 / np.linalg.inv(p)[0, 0]), (FORWARD, p[0, 0])):
        name, forward = ORDER_NAMES[order], order == FORWARD
        variance = fit_factorised(p, forward)
        kl = kl_divergence(np.zeros(2), variance, p, forward)
        answers += [
            Answer("variance of each factor", name, variance[0], setting, exact=exact),
            Answer("minimum divergence [nats]", name, kl, setting, exact=minimum),
        ]
        factorised.append({"divergence": name, "correlation": correlation, "variance": variance[0]})
    return {ANSWERS: answers, FACTORISED: factorised}


Values = NDArray[np.float64]

SLOPE_TOLERANCE = 1e-5
"""Largest slope of the objective at an optimum, per standard deviation of q."""

OPTIMUM_DECIMALS = 7
"""Reproducible decimals of an optimal mean."""

SAME_OPTIMUM_DECIMALS = 4
"""Decimals to which two starts agree if they reach the same optimum."""

MIN_RELATIVE_DENSITY = 0.01
"""Fraction of p's highest density below which p counts as zero."""

GRID_HALF_WIDTH = 12.0
"""Half-width of the grid before it is stretched by the hyperbolic sine, to 81,000."""

N_NODES = 1601
"""Enough for components of standard deviation 0.25 up to 8 from zero, to the power of 5."""

_steps = np.linspace(-GRID_HALF_WIDTH, GRID_HALF_WIDTH, N_NODES)

NODES: Values = np.sinh(_steps)
"""`[X]`; the spacing is 0.015 at the centre and 1.5 % of the distance from it far out."""

LOG_WEIGHTS: Values = np.log(np.cosh(_steps) * (_steps[1] - _steps[0]))
"""Log weights of the trapezoidal rule, accurate to rounding for smooth decaying functions."""

MAX_TAIL_SCALE = 1e4
"""Largest standard deviation of a tail that the grid can distinguish from a constant."""


class Component(NamedTuple):
    """One Gaussian of a mixture: its probability, mean and standard deviation."""

    weight: float
    loc: float
    scale: float


@dataclass(frozen=True)
class BimodalTarget:
    """`weight Normal(-separation, 1) + (1 - weight) Normal(separation, scale^2)`.

    Attributes:
        separation: distance of each component's mean from zero.
        weight: weight of the left component.
        scale: standard deviation of the right component.
    """

    separation: float
    weight: float = 0.5
    scale: float = 1.0

    @property
    def name(self) -> str:
        """The formula: `0.5 N(-2, 1) + 0.5 N(2, 0.5²)`."""
        left, right = self.components
        variance = "1" if right.scale == 1 else f"{right.scale:g}²"
        left_name = f"{left.weight:g} N({left.loc + 0.0:g}, 1)"
        return f"{left_name} + {right.weight:g} N({right.loc:g}, {variance})"

    @property
    def components(self) -> tuple[Component, Component]:
        """The left and the right component."""
        left = Component(self.weight, -self.separation, 1.0)
        return left, Component(1 - self.weight, self.separation, self.scale)

    @property
    def mean(self) -> float:
        return sum(c.weight * c.loc for c in self.components)

    @property
    def standard_deviation(self) -> float:
        second = sum(c.weight * (c.loc**2 + c.scale**2) for c in self.components)
        return math.sqrt(second - self.mean**2)

    @property
    def max_scale(self) -> float:
        """The largest standard deviation of a component, which determines the tails."""
        return max(c.scale for c in self.components)

    def log_density(self, points: Values) -> Values:
        """Return the log density at points of any shape."""
        left, right = (
            math.log(c.weight) + log_normal(points, c.loc, c.scale) for c in self.components
        )
        return np.logaddexp(left, right)


def log_normal(points: Values, loc: float, scale: float) -> Values:
    """Return the log density of `Normal(loc, scale^2)` at points of any shape."""
    return -0.5 * ((points - loc) / scale) ** 2 - math.log(scale) - 0.5 * math.log(2 * math.pi)


@lru_cache(maxsize=4)
def log_density_at_nodes(p: BimodalTarget) -> Values:
    """Return the log density at `NODES`, `[X]`; cached because each fit needs it many times."""
    return p.log_density(NODES)


@dataclass(frozen=True)
class LocalOptimum:
    """The mean and standard deviation of a locally optimal q, and its divergence from p."""

    loc: float
    scale: float
    divergence: float


def powers(order: float) -> tuple[float, float]:
    """Return the powers of p and q in the integral of eq. 3.68."""
    return (1 + order) / 2, (1 - order) / 2


def divergence(p: BimodalTarget, loc: float, scale: float, order: float) -> float:
    """Return the alpha-divergence from p to `Normal(loc, scale^2)` (eq. 3.68).

        D = 4 / (1 - alpha^2) (1 - integral p^((1 + alpha) / 2) q^((1 - alpha) / 2))

    with the limits KL(q || p) at -1 and KL(p || q) at 1, in nats. Infinite if the integral is.
    """
    if abs(order) == 1:
        return _kl(p, loc, math.log(scale), order)[0]
    low, high = _finite_log_scales(p, order)
    if not low <= math.log(scale) <= high:
        return math.inf
    return float(4 / (order**2 - 1) * np.expm1(_log_integral(p, loc, scale, order)[0]))


def local_optima(p: BimodalTarget, order: float) -> tuple[LocalOptimum, ...]:
    """Return the locally closest Gaussians, the closest first.

    If two optima are equally close, as for a symmetric mixture, the one with the larger mean comes
    first.
    """
    spread = p.standard_deviation
    lowest, highest = _finite_log_scales(p, order)
    narrowest = min(component.scale for component in p.components)
    bounds = max(lowest, math.log(narrowest / 10)), min(highest, math.log(10 * spread))
    max_loc = p.separation + p.max_scale
    # Each component, and the moments of p off the axis of symmetry, where gradients vanish.
    starts = [(component.loc, component.scale) for component in p.components]
    starts += [(p.mean + side * spread, spread) for side in (-0.1, 0.1)]
    fits: dict[tuple[float, float], LocalOptimum] = {}
    for start_loc, start_scale in starts:
        result = minimize(
            lambda x: _objective(p, float(x[0]), float(x[1]), order),
            (start_loc, min(max(math.log(start_scale), bounds[0]), bounds[1])),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-max_loc, max_loc), bounds],
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500},
        )
        loc, scale = round(float(result.x[0]), OPTIMUM_DECIMALS) + 0.0, math.exp(result.x[1])
        loc_slope, scale_slope = result.jac * [scale, 1.0]
        # Below order -1, the scale may end at the largest value with a finite divergence.
        at_bound = bool(result.x[1] == highest and scale_slope < -SLOPE_TOLERANCE)
        if abs(loc_slope) < SLOPE_TOLERANCE and (at_bound or abs(scale_slope) < SLOPE_TOLERANCE):
            fit = LocalOptimum(loc, scale, divergence(p, loc, scale, order))
            key = (round(loc, SAME_OPTIMUM_DECIMALS), round(scale, SAME_OPTIMUM_DECIMALS))
            fits.setdefault(key, fit)
    return tuple(sorted(fits.values(), key=lambda fit: (round(fit.divergence, 9), -fit.loc)))


def mass_outside(p: BimodalTarget, fit: LocalOptimum) -> float:
    """Return q's mass where p is below `MIN_RELATIVE_DENSITY` of its highest density.

    Accurate to a few thousandths, because the boundary of that region lies between nodes.
    """
    log_p = log_density_at_nodes(p)
    low = log_p < log_p.max() + math.log(MIN_RELATIVE_DENSITY)
    return float(np.exp(log_normal(NODES, fit.loc, fit.scale) + LOG_WEIGHTS)[low].sum())


def min_component_mass(p: BimodalTarget, fit: LocalOptimum) -> float:
    """Return q's smallest mass within two standard deviations of a component of p."""
    ends = np.array([[c.loc - 2 * c.scale, c.loc + 2 * c.scale] for c in p.components])
    low, high = ndtr((ends - fit.loc) / fit.scale).T
    return float((high - low).min())


def _finite_log_scales(p: BimodalTarget, order: float) -> tuple[float, float]:
    """Return the bounds of q's log scale within which the integral is finite."""
    power_p, power_q = powers(order)
    tails = power_p / p.max_scale**2 - MAX_TAIL_SCALE**-2
    if power_p < 0:
        return -math.inf, 0.5 * math.log(power_q / -tails)
    if power_q < 0:
        return 0.5 * math.log(-power_q / tails), math.inf
    return -math.inf, math.inf


def _objective(
    p: BimodalTarget, loc: float, log_scale: float, order: float
) -> tuple[float, Values]:
    """Return a monotone function of the divergence, and its gradient in `loc` and `log_scale`.

    `4 log I / (alpha^2 - 1)`, a Rényi divergence, neither overflows nor becomes flat far from p,
    and has the same KL divergences as limits.
    """
    if abs(order) == 1:
        return _kl(p, loc, log_scale, order)
    scale, factor = math.exp(log_scale), 4 / (order**2 - 1)
    value, weights = _log_integral(p, loc, scale, order)
    return factor * value, factor * (powers(order)[1] * _mean_score(weights, loc, scale))


def _log_integral(p: BimodalTarget, loc: float, scale: float, order: float) -> tuple[float, Values]:
    """Return `log integral p^a q^b`, and the normalised integrand at the nodes as weights."""
    power_p, power_q = powers(order)
    terms = (
        power_p * log_density_at_nodes(p) + power_q * log_normal(NODES, loc, scale) + LOG_WEIGHTS
    )
    total = float(logsumexp(terms))
    return total, np.exp(terms - total)


def _kl(p: BimodalTarget, loc: float, log_scale: float, order: float) -> tuple[float, Values]:
    """Return KL(q || p) or KL(p || q), and its gradient in `loc` and `log_scale`."""
    scale = math.exp(log_scale)
    log_p, log_q = log_density_at_nodes(p), log_normal(NODES, loc, scale)
    if order == FORWARD:
        weights = np.exp(log_p + LOG_WEIGHTS)
        return float(weights @ (log_p - log_q)), -_mean_score(weights, loc, scale)
    weights = np.exp(log_q + LOG_WEIGHTS)
    ratio = log_q - log_p
    return float(weights @ ratio), _mean_score(weights * ratio, loc, scale)


def _mean_score(weights: Values, loc: float, scale: float) -> Values:
    """Return the weighted sum over the nodes of the gradient of `log q`."""
    difference = (NODES - loc) / scale
    return np.array([weights @ difference / scale, weights @ (difference**2 - 1)])


def covariance_matrix(correlation: float) -> Values:
    """Return the covariance matrix of two variables of variance 1, `[2, 2]`."""
    return np.array([[1.0, correlation], [correlation, 1.0]])


def kl_divergence(mean: Values, variance: Values, covariance: Values, forward: bool) -> float:
    """Return KL(p || q) in nats if `forward`, else KL(q || p), for mean and variance `[2]` of q."""
    q, p = np.diag(variance), covariance
    first, second = (p, q) if forward else (q, p)
    inverse = np.linalg.inv(second)
    log_dets = np.linalg.slogdet(second)[1] - np.linalg.slogdet(first)[1]
    quadratic = np.trace(inverse @ first) + mean @ inverse @ mean
    return float(0.5 * (quadratic - len(mean) + log_dets))


def fit_factorised(covariance: Values, forward: bool) -> Values:
    """Return the variances `[2]` of the factorised Gaussian that minimises a KL divergence.

    The minimisation is numerical; the closed forms are `1 / precision_ii` (reverse KL) and
    `covariance_ii` (forward KL).
    """
    zero = np.zeros(2)
    result = minimize(
        lambda logs: kl_divergence(zero, np.exp(logs), covariance, forward), zero, tol=1e-12
    )
    return np.asarray(np.exp(result.x))
