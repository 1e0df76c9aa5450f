"""Assumed density filtering, expectation propagation and power EP for the clutter problem.

Cinelli et al., sections 3.2.2 and 3.2.3: each likelihood factor is replaced by a site, an
unnormalised Gaussian. EP takes one site out of the approximation, puts the true factor in, matches
mean and variance, and so gets the new site (Algorithm 1). Power EP does so with a power of factor
and site, (3.66)-(3.67). The first pass of EP from empty sites is ADF.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bnnbench.suites.inference_toys.clutter.gaussians import Natural, standard_grid
from bnnbench.suites.inference_toys.clutter.model import SIGNAL_VARIANCE, Clutter
from bnnbench.suites.inference_toys.clutter.progress import Progress

REACH = 10.0
"""Standard deviations of a cavity that its grid covers to either side."""

FINENESS = 8
"""Nodes of that grid per unit of `theta` or per deviation of the cavity, whichever is finer."""


@dataclass(frozen=True)
class Sites:
    """Unnormalised Gaussians `exp(log_scale + shift theta - precision theta ** 2 / 2)`.

    A precision may be negative: such a site curves upwards, which is allowed as long as the whole
    approximation does not (section 3.2.3.1: a site need not be a valid distribution).

    Attributes:
        precision: `[L, N]`, of N factors in L runs.
        shift: `[L, N]`, precision times mean.
        log_scale: `[L, N]`.
    """

    precision: np.ndarray
    shift: np.ndarray
    log_scale: np.ndarray

    def at(self, place: tuple[np.ndarray, np.ndarray]) -> Natural:
        """One site of each run."""
        return Natural(self.precision[place], self.shift[place])

    def put(self, place: tuple[np.ndarray, np.ndarray], refined: Refined) -> None:
        """Replaces one site of each run, where the new one is usable."""
        rows, columns = (index[refined.usable] for index in place)
        self.precision[rows, columns] = refined.site.precision[refined.usable]
        self.shift[rows, columns] = refined.site.shift[refined.usable]
        self.log_scale[rows, columns] = refined.log_scale[refined.usable]


class Refined(NamedTuple):
    """A new site of each of L runs; where it is not usable, the old one."""

    site: Natural
    log_scale: np.ndarray
    usable: np.ndarray


@dataclass(frozen=True)
class Fit:
    """What EP came to in L runs side by side.

    Attributes:
        progress: after each pass over all factors.
        sites: after the last pass.
        passes: `[L]`, after which nothing moved any more; infinite if it still did.
        skipped: `[L]`, updates that would have left no valid Gaussian.
    """

    progress: Progress
    sites: Sites
    passes: np.ndarray
    skipped: np.ndarray


class Moments(NamedTuple):
    """Of `N(theta; mean, variance) f_i(theta) ** power`, `[L]` each.

    Attributes:
        log_mass: the log of its integral.
        mean: of the normalised density.
        variance: of the normalised density.
        work: factors evaluated for one of the L.
    """

    log_mass: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    work: int


def expectation_propagation(
    model: Clutter, orders: np.ndarray, passes: int, tolerance: float, power: float = 1.0
) -> Fit:
    """Runs EP from empty sites in several orders side by side.

    Args:
        model: with its N observations.
        orders: `[L, N]`, in which each run visits the factors.
        passes: over all factors, at most; 1 is ADF.
        tolerance: it ends when a pass moves no mean, deviation or log evidence by more, relative
            to its size where that exceeds 1.
        power: of factors and sites; 1 is EP. It is `1 / n_i` of (3.66), and the fixed points are
            those of the alpha-divergence (3.68) with `alpha = 2 power - 1`.
    """
    runs, count = orders.shape
    rows, zeros = np.arange(runs), np.zeros(runs)
    sites = Sites(*(np.zeros((runs, count)) for _ in range(3)))
    prior = total = Natural(np.full(runs, 1 / model.prior_variance), zeros)
    states, work, spent = [], [], 0
    skipped = np.zeros(runs, dtype=int)
    for _ in range(passes):
        for column in orders.T:
            place = (rows, column)
            old = sites.at(place)
            moments, refined = _refine(model, column, total, old, power)
            sites.put(place, refined)
            total = total.plus(refined.site).plus(old, -1.0)
            skipped += ~refined.usable
            spent += moments.work
        log_evidence = total.log_mass - prior.log_mass + sites.log_scale.sum(1)
        states.append(np.stack([total.mean, np.sqrt(total.variance), log_evidence]))
        work.append(spent)
        if len(states) > 1 and not _moved(states[-2], states[-1], tolerance).any():
            break
    progress = Progress(np.array(work), *np.stack(states, axis=1))
    return Fit(progress, sites, _passes(np.stack(states), tolerance), skipped)


def _refine(
    model: Clutter, column: np.ndarray, total: Natural, old: Natural, power: float
) -> tuple[Moments, Refined]:
    """A new site for one factor of each run, (3.61)-(3.63), its scale included."""
    cavity = total.plus(old, -power)
    possible = cavity.valid
    given = cavity.where(possible, Natural(np.ones_like(old.shift), np.zeros_like(old.shift)))
    moments = tilted_moments(model, column, given.mean, given.variance, power)
    matched = Natural.of(moments.mean, moments.variance)
    site = old.plus(matched.plus(total, -1.0), 1 / power)
    usable = possible & total.plus(site).plus(old, -1.0).valid
    log_scale = (moments.log_mass - matched.log_mass + given.log_mass) / power
    return moments, Refined(site.where(usable, old), log_scale, usable)


def tilted_moments(
    model: Clutter, column: np.ndarray, mean: np.ndarray, variance: np.ndarray, power: float = 1.0
) -> Moments:
    """Mass, mean and variance of a cavity times a power of a likelihood factor.

    In closed form for a power of 1, where it is a mixture of two Gaussians; else on a grid.

    Args:
        model: with its observations.
        column: `[L]`, which factor.
        mean: `[L]`, of the normalised cavity.
        variance: `[L]`, of the cavity.
        power: of the factor.
    """
    part = model.only(column)
    if power == 1:
        return _mixture_moments(part, mean, variance)
    scale = np.sqrt(variance)
    nodes = int(2 * REACH * FINENESS * max(1.0, scale.max())) + 1
    node, weight = standard_grid(nodes, REACH)
    theta = mean + scale * node[:, None]
    log_powers = power * part.log_factors(theta)
    top = log_powers.max(0)
    tilted = weight[:, None] * np.exp(log_powers - top)
    mass = tilted.sum(0)
    tilted /= mass
    middle = (tilted * theta).sum(0)
    return Moments(top + np.log(mass), middle, (tilted * (theta - middle) ** 2).sum(0), nodes)


def _mixture_moments(part: Clutter, mean: np.ndarray, variance: np.ndarray) -> Moments:
    """The closed form; `part` has the one observation of each of the L runs (Minka 2001)."""
    spread = variance + SIGNAL_VARIANCE
    log_signal = part.log_signal(mean, spread)
    log_mass = np.logaddexp(log_signal, part.log_clutter)
    signal = np.exp(log_signal - log_mass)
    off = (part.observations - mean) / spread
    moved = mean + signal * variance * off
    narrowed = variance - signal * variance**2 / spread
    return Moments(log_mass, moved, narrowed + signal * (1 - signal) * (variance * off) ** 2, 1)


def _moved(before: np.ndarray, after: np.ndarray, tolerance: float) -> np.ndarray:
    """Which runs a pass moved, `[..., L]` from `[..., 3, L]`."""
    return (np.abs(after - before) > tolerance * np.maximum(1.0, np.abs(after))).any(-2)


def _passes(states: np.ndarray, tolerance: float) -> np.ndarray:
    """After which pass each run had settled, `[L]`, from `[K, 3, L]`."""
    moved = _moved(states[:-1], states[1:], tolerance)
    numbers = np.arange(1, len(states))[:, None]
    # Counted from the second pass on, and one further pass shows that it is over.
    settled = (moved * numbers).max(0, initial=0) + 2
    return np.where(settled <= len(states), settled, np.inf)
