"""Assumed density filtering and expectation propagation for the clutter problem.

Cinelli et al., sections 3.2.2 and 3.2.3, with Gaussian sites.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from bnnbench.suites.inference_toys.clutter.model import SIGNAL_VARIANCE, ClutterModel
from bnnbench.suites.inference_toys.expectation_propagation import (
    EPResult,
    EPState,
    SiteUpdate,
    flat_sites,
    run_ep,
)
from bnnbench.suites.inference_toys.maths import Array


@dataclass(frozen=True)
class NaturalGaussian:
    """Unnormalised Gaussians `exp(shift theta - precision theta ** 2 / 2)`, section 3.2.3.2.

    Attributes:
        precision: `[R]`, may be negative for a single factor of a product.
        shift: `[R]`, precision times mean.
    """

    precision: Array
    shift: Array

    @classmethod
    def from_natural(cls, natural: Array) -> Self:
        return cls(natural[..., 0], natural[..., 1])

    def natural(self) -> Array:
        return np.stack([self.precision, self.shift], axis=-1)

    @property
    def is_proper(self) -> Array:
        """Whether each Gaussian can be normalised, `[R]`."""
        return np.isfinite(self.precision) & np.isfinite(self.shift) & (self.precision > 0)

    @property
    def mean(self) -> Array:
        return self.shift / self.precision

    @property
    def variance(self) -> Array:
        return 1 / self.precision

    @property
    def log_mass(self) -> Array:
        """Log of the integral, `[R]`."""
        return 0.5 * (np.log(2 * np.pi / self.precision) + self.shift**2 / self.precision)


def expectation_propagation(
    model: ClutterModel, orders: Array, passes: int, tolerance: float
) -> EPResult[NaturalGaussian]:
    """Run EP in each order of the factors, `[R, N]`; the first pass is ADF.

    The estimates are mean, standard deviation and log evidence.
    """
    runs, count = orders.shape
    prior = NaturalGaussian(np.full(runs, 1 / model.prior_variance), np.zeros(runs))

    def update(total: Array, old: Array, factors: Array) -> SiteUpdate:
        return update_site(model, total, old, factors)

    def estimate(state: EPState[NaturalGaussian]) -> Array:
        log_evidence = state.q.log_mass - prior.log_mass + state.log_scales.sum(1)
        return np.stack([state.q.mean, np.sqrt(state.q.variance), log_evidence])

    return run_ep(flat_sites(prior, count), orders, update, estimate, passes, tolerance)


def update_site(model: ClutterModel, total: Array, old: Array, factors: Array) -> SiteUpdate:
    """Compute the new site of one factor per run, (3.61)-(3.63), including its scale."""
    cavity = NaturalGaussian.from_natural(total - old)
    has_cavity = cavity.is_proper
    # Replace improper cavities by a standard normal; their results are discarded.
    cavity = NaturalGaussian(
        np.where(has_cavity, cavity.precision, 1.0), np.where(has_cavity, cavity.shift, 0.0)
    )
    log_mass, mean, variance = tilted_moments(model.subset(factors), cavity.mean, cavity.variance)
    matched = NaturalGaussian(1 / variance, mean / variance)
    site = old + (matched.natural() - total)
    new_total = total + site - old
    is_valid = has_cavity & NaturalGaussian.from_natural(new_total).is_proper
    log_scale = log_mass - matched.log_mass + cavity.log_mass
    return SiteUpdate(new_total, site, log_scale, is_valid)


def tilted_moments(
    selected: ClutterModel, mean: Array, variance: Array
) -> tuple[Array, Array, Array]:
    """Return log mass, mean and variance of cavities times the factor of each run (Minka 2001).

    The cavities are given by their mean and variance, `[R]` each; their products with a factor are
    mixtures of two Gaussians. The model holds the observation of each run.
    """
    total_variance = variance + SIGNAL_VARIANCE
    log_signal = selected.log_signal(mean, total_variance)
    log_mass = np.logaddexp(log_signal, selected.log_clutter)
    signal = np.exp(log_signal - log_mass)
    residual = (selected.observations - mean) / total_variance
    within = variance - signal * variance**2 / total_variance
    between = signal * (1 - signal) * (variance * residual) ** 2
    return log_mass, mean + signal * variance * residual, within + between
