"""Assumed density filtering, expectation propagation and power EP for the clutter problem.

Cinelli et al., sections 3.2.2 and 3.2.3: each likelihood factor is approximated by a site, an
unnormalised Gaussian. EP divides one site out of the approximation, multiplies by the true factor,
matches mean and variance and obtains the new site (Algorithm 1). Power EP does the same with a
power of factor and site, (3.66)-(3.67). The first pass of EP from flat sites is ADF.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bnnbench.suites.inference_toys.clutter.gaussians import NaturalGaussian, standard_normal_grid
from bnnbench.suites.inference_toys.clutter.model import SIGNAL_VARIANCE, ClutterModel
from bnnbench.suites.inference_toys.clutter.progress import Progress

GRID_HALF_WIDTH = 10.0
"""Half-width of the grid, in standard deviations of the cavity."""

NODES_PER_UNIT = 8
"""Nodes per unit of `theta` or per standard deviation of the cavity, whichever is finer."""


@dataclass(frozen=True)
class Sites:
    """Unnormalised Gaussians `exp(log_scale + shift theta - precision theta ** 2 / 2)`.

    A precision may be negative as long as the product of all sites is a proper Gaussian (section
    3.2.3.1: a site need not be a valid distribution).

    Attributes:
        precision: `[L, N]`, for N factors in L runs.
        shift: `[L, N]`, precision times mean.
        log_scale: `[L, N]`.
    """

    precision: np.ndarray
    shift: np.ndarray
    log_scale: np.ndarray

    def select(self, index: tuple[np.ndarray, np.ndarray]) -> NaturalGaussian:
        """Return one site of each run."""
        return NaturalGaussian(self.precision[index], self.shift[index])

    def replace(self, index: tuple[np.ndarray, np.ndarray], update: SiteUpdate) -> None:
        """Replace one site of each run where the update is valid."""
        rows, columns = (axis[update.is_valid] for axis in index)
        self.precision[rows, columns] = update.site.precision[update.is_valid]
        self.shift[rows, columns] = update.site.shift[update.is_valid]
        self.log_scale[rows, columns] = update.log_scale[update.is_valid]


class SiteUpdate(NamedTuple):
    """The new site of each of L runs; the old one where the update is invalid."""

    site: NaturalGaussian
    log_scale: np.ndarray
    is_valid: np.ndarray


@dataclass(frozen=True)
class EPResult:
    """The result of L vectorised runs of EP.

    Attributes:
        progress: estimates after each pass over all factors.
        sites: the sites after the last pass.
        passes: `[L]`, passes until convergence; infinite without convergence.
        skipped: `[L]`, number of updates skipped because the result would be improper.
    """

    progress: Progress
    sites: Sites
    passes: np.ndarray
    skipped: np.ndarray


class Moments(NamedTuple):
    """Moments of `N(theta; mean, variance) f_i(theta) ** power`, `[L]` each.

    Attributes:
        log_mass: log of its integral.
        mean: mean of the normalised density.
        variance: variance of the normalised density.
        work: likelihood factors evaluated per run.
    """

    log_mass: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    work: int


def expectation_propagation(
    model: ClutterModel, orders: np.ndarray, passes: int, tolerance: float, power: float = 1.0
) -> EPResult:
    """Run EP from flat sites for several orders of the factors at once.

    Args:
        model: the clutter model with its N observations.
        orders: `[L, N]`, the order in which each run visits the factors.
        passes: maximum number of passes over all factors; 1 is ADF.
        tolerance: stop when a pass changes mean, standard deviation and log evidence by at most
            this, relative to values that exceed 1.
        power: power of factors and sites, `1 / n_i` in (3.66); 1 is EP. Fixed points are those
            of the alpha-divergence (3.68) with `alpha = 2 power - 1`.
    """
    runs, count = orders.shape
    rows, zeros = np.arange(runs), np.zeros(runs)
    sites = Sites(*(np.zeros((runs, count)) for _ in range(3)))
    prior = total = NaturalGaussian(np.full(runs, 1 / model.prior_variance), zeros)
    states, work, evaluated = [], [], 0
    skipped = np.zeros(runs, dtype=int)
    for _ in range(passes):
        for column in orders.T:
            index = (rows, column)
            old = sites.select(index)
            moments, update = _update_site(model, column, total, old, power)
            sites.replace(index, update)
            total = total.multiply(update.site).multiply(old, -1.0)
            skipped += ~update.is_valid
            evaluated += moments.work
        log_evidence = total.log_mass - prior.log_mass + sites.log_scale.sum(1)
        states.append(np.stack([total.mean, np.sqrt(total.variance), log_evidence]))
        work.append(evaluated)
        if len(states) > 1 and not _changed(states[-2], states[-1], tolerance).any():
            break
    progress = Progress(np.array(work), *np.stack(states, axis=1))
    passes_used = _passes_until_convergence(np.stack(states), tolerance)
    return EPResult(progress, sites, passes_used, skipped)


def _update_site(
    model: ClutterModel,
    column: np.ndarray,
    total: NaturalGaussian,
    old: NaturalGaussian,
    power: float,
) -> tuple[Moments, SiteUpdate]:
    """Compute the new site of one factor per run, (3.61)-(3.63), including its scale."""
    cavity = total.multiply(old, -power)
    has_cavity = cavity.is_proper
    standard_normal = NaturalGaussian(np.ones_like(old.shift), np.zeros_like(old.shift))
    cavity = cavity.where(has_cavity, standard_normal)
    moments = tilted_moments(model, column, cavity.mean, cavity.variance, power)
    matched = NaturalGaussian.from_moments(moments.mean, moments.variance)
    site = old.multiply(matched.multiply(total, -1.0), 1 / power)
    is_valid = has_cavity & total.multiply(site).multiply(old, -1.0).is_proper
    log_scale = (moments.log_mass - matched.log_mass + cavity.log_mass) / power
    return moments, SiteUpdate(site.where(is_valid, old), log_scale, is_valid)


def tilted_moments(
    model: ClutterModel,
    column: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    power: float = 1.0,
) -> Moments:
    """Return mass, mean and variance of a cavity times a power of a likelihood factor.

    The closed form for power 1 is that of a mixture of two Gaussians; other powers use a grid.

    Args:
        model: the clutter model with its observations.
        column: `[L]`, index of the factor.
        mean: `[L]`, mean of the cavity.
        variance: `[L]`, variance of the cavity.
        power: power of the factor.
    """
    selected = model.subset(column)
    if power == 1:
        return _mixture_moments(selected, mean, variance)
    scale = np.sqrt(variance)
    n_nodes = int(2 * GRID_HALF_WIDTH * NODES_PER_UNIT * max(1.0, scale.max())) + 1
    nodes, weights = standard_normal_grid(n_nodes, GRID_HALF_WIDTH)
    theta = mean + scale * nodes[:, None]
    log_powers = power * selected.log_factors(theta)
    log_max = log_powers.max(0)
    tilted = weights[:, None] * np.exp(log_powers - log_max)
    mass = tilted.sum(0)
    tilted /= mass
    new_mean = (tilted * theta).sum(0)
    new_variance = (tilted * (theta - new_mean) ** 2).sum(0)
    return Moments(log_max + np.log(mass), new_mean, new_variance, n_nodes)


def _mixture_moments(selected: ClutterModel, mean: np.ndarray, variance: np.ndarray) -> Moments:
    """Return the closed form for the selected observation of each run (Minka 2001)."""
    total_variance = variance + SIGNAL_VARIANCE
    log_signal = selected.log_signal(mean, total_variance)
    log_mass = np.logaddexp(log_signal, selected.log_clutter)
    signal = np.exp(log_signal - log_mass)
    residual = (selected.observations - mean) / total_variance
    new_mean = mean + signal * variance * residual
    within = variance - signal * variance**2 / total_variance
    between = signal * (1 - signal) * (variance * residual) ** 2
    return Moments(log_mass, new_mean, within + between, 1)


def _changed(before: np.ndarray, after: np.ndarray, tolerance: float) -> np.ndarray:
    """Return which runs a pass changed, `[..., L]` from `[..., 3, L]`."""
    return (np.abs(after - before) > tolerance * np.maximum(1.0, np.abs(after))).any(-2)


def _passes_until_convergence(states: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the number of passes until each run converged, `[L]`, from `[K, 3, L]`."""
    changed = _changed(states[:-1], states[1:], tolerance)
    numbers = np.arange(1, len(states))[:, None]
    # `changed` starts at the second pass, and one unchanged pass is needed to detect convergence.
    converged = (changed * numbers).max(0, initial=0) + 2
    return np.where(converged <= len(states), converged, np.inf)
