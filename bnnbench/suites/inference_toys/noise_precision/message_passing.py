"""Assumed density filtering, (power) expectation propagation and black-box alpha.

Sections 3.2.2.4, 3.2.3.3, 3.2.3.5 and 3.2.4.2. ADF is the first pass of EP: every site is still 1,
so a cavity is the current belief (section 3.2.3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.expectation_propagation import (
    EPResult,
    EPState,
    SiteUpdate,
    ep_pass,
    flat_sites,
    run_ep,
)
from bnnbench.suites.inference_toys.maths import Array
from bnnbench.suites.inference_toys.noise_precision.families import Belief
from bnnbench.suites.inference_toys.noise_precision.model import LinearModel
from bnnbench.suites.inference_toys.noise_precision.moment_matching import (
    Tilted,
    gaussian_normaliser,
    project,
    quadrature_normaliser,
)

TOLERANCE = 1e-9
"""Largest change of an estimate over a pass at convergence, relative to values above 1."""

MIN_SHAPE = 1.0
"""At lower shapes, the Student's t of (3.52) has no variance; such cavities are skipped."""


@dataclass(frozen=True)
class LikelihoodFactors:
    """The likelihood factors, and how an update includes one.

    Attributes:
        model: data and prior.
        exact: whether normalisers K are computed by quadrature; otherwise by (3.52).
        printed: whether to use (3.56) as printed.
        power: power of the factors, a number or `[R]`; 1 unless `exact`.
    """

    model: LinearModel
    exact: bool = False
    printed: bool = False
    power: Any = 1.0

    def tilted(self, belief: Belief, rows: Array) -> Tilted:
        """Return the beliefs times the factors of these rows, `[R]`."""
        data = (self.model.inputs[rows], self.model.targets[rows])
        if self.exact:
            return quadrature_normaliser(belief, *data, self.power)
        return gaussian_normaliser(belief, *data)

    def update(self, total: Array, old: Array, rows: Array) -> SiteUpdate:
        """Remove the sites of these rows, include the exact factors and project.

        The cavity `q / site**power` subtracts natural parameters, as in (3.74); (3.65) prints that
        difference with the opposite sign. An update is valid if its cavity is admissible and its
        result is a distribution.
        """
        power = self.powers(len(total))
        natural_cavity = total - power * old
        cavity = Belief.from_natural(natural_cavity)
        is_valid = is_admissible(cavity)
        # Replace inadmissible cavities by the prior; their results are discarded.
        safe = select(is_valid, cavity, self.model.prior)
        tilted = self.tilted(safe, rows)
        new = project(safe, tilted, self.printed)
        site = (new.natural() - natural_cavity) / power
        new_total = total - old + site
        # For powers below 1, the new total can be improper.
        is_valid = is_valid & is_proper(new) & is_proper(Belief.from_natural(new_total))
        return SiteUpdate(new_total, site, tilted.log_normalisers[0], is_valid)

    def log_evidence(self, state: EPState[Belief]) -> Array:
        """Return the estimate of the log evidence by the sites, nats, `[R]`.

        `Phi(q) - Phi(prior) + 1/power sum_i (log K_i + Phi(q_{-i}) - Phi(q))` with the log
        normaliser `Phi`. EP finds stationary points of its negative, the energy (Minka 2001). NaN
        if a cavity is not a distribution.
        """
        natural, power = state.q.natural(), self.powers(len(state.sites))
        normaliser = state.q.log_normaliser()
        total = normaliser - self.model.prior.log_normaliser()
        for row in range(self.model.rows):
            cavity = Belief.from_natural(natural - power * state.sites[:, row])
            cavity = select(is_admissible(cavity), cavity, Belief(*[np.nan] * 4))
            tilted = self.tilted(cavity, np.full(len(natural), row))
            gain = tilted.log_normalisers[0] + cavity.log_normaliser() - normaliser
            total = total + gain / power[:, 0]
        return total

    def powers(self, runs: int) -> Array:
        """Return the power of each run, `[R, 1]`."""
        return np.broadcast_to(self.power, runs)[:, None]


def is_admissible(belief: Belief) -> Array:
    """Return whether a factor can be included: the belief is proper with a shape above 1, `[R]`."""
    return is_proper(belief) & (belief.shape > MIN_SHAPE)


def is_proper(belief: Belief) -> Array:
    """Return whether the belief is a distribution, `[R]`."""
    finite = np.isfinite(belief.shape) & np.isfinite(belief.rate) & np.isfinite(belief.variance)
    return finite & (belief.shape > 0) & (belief.rate > 0) & (belief.variance > 0)


def select(condition: Array, belief: Belief, otherwise: Belief) -> Belief:
    """Select beliefs as `np.where` does, `[R]`."""
    pairs = zip(vars(belief).values(), vars(otherwise).values(), strict=True)
    return Belief(*(np.where(condition, value, other) for value, other in pairs))


def run_adf(factors: LikelihoodFactors, orders: Array) -> EPState[Belief]:
    """Run ADF: one pass in each order, `[R, N]`."""
    prior = factors.model.prior.repeat(len(orders))
    return ep_pass(flat_sites(prior, factors.model.rows), orders, factors.update)


def repeat_adf(factors: LikelihoodFactors, order: Array, passes: int) -> Belief:
    """Return the beliefs after each pass of ADF over the same data, `[passes]`, as in Fig. 3.10.

    Unlike EP, ADF never removes a factor. `order` holds row numbers, `[N]`.
    """
    flat = state = flat_sites(factors.model.prior.repeat(1), len(order))
    naturals = []
    for _ in range(passes):
        state = ep_pass(replace(flat, q=state.q), order[None], factors.update)
        naturals.append(state.q.natural()[0])
    return Belief.from_natural(np.stack(naturals))


def run_expectation_propagation(
    factors: LikelihoodFactors, orders: Array, passes: int
) -> EPResult[Belief]:
    """Run EP in each order of the rows, `[R, N]`.

    The estimates are the four natural parameters and the log evidence.
    """

    def estimate(state: EPState[Belief]) -> Array:
        return np.stack([*state.q.natural().T, factors.log_evidence(state)])

    state = flat_sites(factors.model.prior.repeat(len(orders)), factors.model.rows)
    return run_ep(state, orders, factors.update, estimate, passes, TOLERANCE)


def include_repeatedly(
    model: LinearModel, noise_precision: float, row: int, n_inclusions: Any
) -> Belief:
    """Return the belief after including one observation repeatedly at known noise precision.

    Everything is Gaussian and exact: each inclusion adds the factor's precision, and the belief
    collapses onto the factor's mode (Fig. 3.10). `n_inclusions` is a number or an array.
    """
    x, y, prior = model.inputs[row], model.targets[row], model.prior
    precision = 1 / prior.variance + n_inclusions * noise_precision * x**2
    weighted_mean = prior.weight_mean / prior.variance + n_inclusions * noise_precision * x * y
    return replace(prior, weight_mean=weighted_mean / precision, variance=1 / precision)


def tied_log_evidence(model: LinearModel, belief: Belief, power: float) -> float:
    """Return the estimate of the log evidence with N equal sites, in nats.

    Each site is the N-th root of belief over prior, so there is one cavity. The limit for power 0
    is the evidence lower bound; black-box alpha minimises the negative estimate, its energy.
    """
    posterior, prior = belief.natural(), model.prior.natural()
    cavity = Belief.from_natural(posterior - power * (posterior - prior) / model.rows)
    stack = cavity.repeat(model.rows)
    tilted = quadrature_normaliser(stack, model.inputs, model.targets, power)
    gains = tilted.log_normalisers[0] + cavity.log_normaliser() - belief.log_normaliser()
    total = belief.log_normaliser() - model.prior.log_normaliser() + gains.sum() / power
    return float(total)


def black_box_alpha(model: LinearModel, power: float, start: Belief) -> tuple[Belief, float]:
    """Return the belief that minimises the energy of power EP with equal sites, section 3.2.4.2.

    According to the section, its fixed points approach those of power EP with infinite data. The
    standard deviations do not, see `tied_std_of_weight`.

    Uses quadrature and a quasi-Newton method instead of the source's Monte Carlo and stochastic
    gradients, so that tied sites are the only difference from power EP.

    Returns:
        The belief, and its estimate of the log evidence in nats.
    """
    # Scale the parameters by standard deviations of the start for good conditioning.
    units = np.array([start.shape**-0.5, start.shape**-0.5, start.weight_std, 1.0])
    logs = (np.log(start.mean), np.log(start.shape), np.log(start.variance))
    origin = np.array([*logs[:2], start.weight_mean, logs[2]])

    def to_belief(parameters: Array) -> Belief:
        mean, shape, weight_mean, variance = origin + units * parameters
        return Belief(np.exp(shape), np.exp(shape - mean), weight_mean, np.exp(variance))

    def energy(parameters: Array) -> float:
        return -tied_log_evidence(model, to_belief(parameters), power)

    # Three-point differences, because the energy of many factors has rounding errors.
    result = minimize(energy, np.zeros(4), method="BFGS", jac="3-point", options={"gtol": 1e-6})
    return to_belief(result.x), -float(result.fun)


def tied_std_of_weight(model: LinearModel, precision: float, power: float) -> tuple[float, float]:
    """Return the standard deviation of the weight by black-box alpha, and the exact one.

    The noise precision is known, so that all factors are Gaussian, power EP is exact and the energy
    has a closed form. Equal sites ignore that the factors pull the weight in different directions.
    With `g_n` and `h_n` the derivatives of `log f_n`, the energy has the curvature
    `sum(h_n + power g_n^2)` instead of `sum(h_n)`. Since `sum(g_n^2)` approaches `-sum(h_n)`, the
    ratio of the standard deviations approaches `(1 - power) ** -0.5`, not 1.

    Args:
        model: data and prior; the prior of the noise precision is not used.
        precision: the known noise precision.
        power: of the factors, below 1; 0.5 is alpha = 0.
    """
    prior = np.array([1.0, model.prior.weight_mean]) / model.prior.variance
    factors = precision * np.stack([model.inputs**2, model.inputs * model.targets])  # [2, N]
    exact = prior + factors.sum(1)

    def log_normaliser(natural: Array) -> Array:
        return np.asarray(0.5 * (natural[1] ** 2 / natural[0] - np.log(natural[0])))

    def energy(parameters: Array) -> float:
        total = np.exp(parameters[1]) * np.array([1.0, parameters[0]])
        tilted = total[:, None] + power * (factors - (total - prior)[:, None] / model.rows)
        if not (tilted[0] > 0).all():
            return np.inf
        gains = log_normaliser(tilted) - log_normaliser(total)
        return float(-log_normaliser(total) - gains.sum() / power)

    start = np.array([exact[1] / exact[0], np.log(exact[0])])
    options = {"xatol": 1e-9, "fatol": 1e-12}
    result = minimize(energy, start, method="Nelder-Mead", options=options)
    return float(np.exp(-0.5 * result.x[1])), float(exact[0] ** -0.5)
