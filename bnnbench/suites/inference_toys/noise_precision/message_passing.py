"""Assumed density filtering, (power) expectation propagation and black-box alpha.

Sections 3.2.2.2, 3.2.2.4, 3.2.3.3, 3.2.3.5 and 3.2.4.2. ADF is the first pass of EP: every site is
still 1, so a cavity is the current belief (section 3.2.3.1).

All share one step: the inclusion of a likelihood factor and the projection of the product. It works
on stacks of beliefs, `[R]`, each with its own observation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, polygamma

from bnnbench.suites.inference_toys.expectation_propagation import (
    EPResult,
    EPState,
    SiteUpdate,
    ep_pass,
    flat_sites,
    run_ep,
)
from bnnbench.suites.inference_toys.maths import LOG_TWO_PI, Array
from bnnbench.suites.inference_toys.noise_precision.model import Belief, LinearModel

DEVIATIONS = np.arange(-28.0, 8.25, 0.25)
"""Quadrature points in standard deviations of the log noise precision from its mean. The log of a
Gamma variable has its long tail on the left; for shapes above 1, less than 1e-14 is omitted.
"""


class Tilted(NamedTuple):
    """A belief times a factor; every entry is `[R]`.

    Attributes:
        log_normalisers: log K at the belief's shape, at shape + 1 and at shape + 2.
        slope_mean: derivative of log K with respect to the mean of the weight.
        slope_variance: derivative of log K with respect to the variance of the weight.
    """

    log_normalisers: tuple[Any, Any, Any]
    slope_mean: Any
    slope_variance: Any


def gaussian_normaliser(belief: Belief, inputs: Array, targets: Array) -> Tilted:
    """Return K by (3.52): a Student's t replaced by the Gaussian of its mean and variance.

    `K = N(y | x mean, x**2 variance + rate / (shape - 1))`. The second last line of (3.52) prints
    `x**2 + rate / (shape - 1)`, which omits the variance of the weight; its last line is correct.
    """
    residual = targets - inputs * belief.weight_mean
    variances = [
        inputs**2 * belief.variance + belief.rate / (belief.shape + increment - 1)
        for increment in range(3)
    ]
    first, second, third = (
        -0.5 * (LOG_TWO_PI + np.log(variance) + residual**2 / variance) for variance in variances
    )
    slope_variance = 0.5 * inputs**2 * (residual**2 / variances[0] - 1) / variances[0]
    return Tilted((first, second, third), inputs * residual / variances[0], slope_variance)


def quadrature_normaliser(
    belief: Belief, inputs: Array, targets: Array, power: Any = 1.0
) -> Tilted:
    """Return the normaliser K of `N(y; w x, 1 / gamma)**power` by the trapezoidal rule.

    The power, a number or `[R]`, is 1 for EP and `1 / n_i` of (3.66) for power EP.
    """
    x, residual, variance, power, mean_of_log, std_of_log = (
        np.asarray(part)[..., None]
        for part in (
            inputs,
            targets - inputs * belief.weight_mean,
            belief.variance,
            power,
            belief.mean_log,
            np.sqrt(polygamma(1, belief.shape)),
        )
    )
    points = mean_of_log + std_of_log * DEVIATIONS
    # A power of a Gaussian density is another Gaussian density times a constant.
    total_variance = x**2 * variance + np.exp(-points) / power
    constant = 0.5 * ((power - 1) * (points - LOG_TWO_PI) - np.log(power))
    squares = residual**2 / total_variance
    factor = constant - 0.5 * (LOG_TWO_PI + np.log(total_variance) + squares)
    log_masses = belief.log_density_of_log(points) + factor
    log_sum = logsumexp(log_masses, axis=-1)
    probability = np.exp(log_masses - log_sum[..., None])
    log_first = log_sum + np.log(points[..., 1] - points[..., 0])
    # (3.53) and (3.54): moments are ratios of normalisers.
    first, second = (np.log((probability * np.exp(k * points)).sum(-1)) for k in (1, 2))
    mean = np.log(belief.shape / belief.rate)
    square = np.log(belief.shape * (belief.shape + 1) / belief.rate**2)
    return Tilted(
        (log_first, log_first + first - mean, log_first + second - square),
        (probability * (x * residual / total_variance)).sum(-1),
        (probability * (0.5 * x**2 * (squares - 1) / total_variance)).sum(-1),
    )


def matched_shape(belief: Belief, tilted: Tilted, printed: bool = False) -> Any:
    """Return the shape of the Gamma with the tilted mean and variance, (3.56).

    `1 / (K_a K_{a+2} / K_{a+1}**2 (a + 1) / a - 1)` for shape `a`, from `E[gamma]**2 / Var(gamma)`
    by (3.53) and (3.54). Equation (3.56) prints `K_{a+1}` without its square, a number with the
    units of a density, which makes the shape negative or absurd; and (3.55), from which it is
    derived, prints the second moment of (3.54) instead of the variance.
    """
    first, second, third = tilted.log_normalisers
    exponent = 1 if printed else 2
    ratio = np.exp(first + third - exponent * second) * (belief.shape + 1) / belief.shape
    return 1 / (ratio - 1)


def matched_rate(belief: Belief, tilted: Tilted) -> Any:
    """Return the rate of the Gamma with the tilted mean and variance, (3.57)."""
    first, second, third = tilted.log_normalisers
    second_moment_ratio = np.exp(third - second) * (belief.shape + 1) / belief.rate
    mean = np.exp(second - first) * belief.shape / belief.rate
    return 1 / (second_moment_ratio - mean)


def project(belief: Belief, tilted: Tilted, printed: bool = False) -> Belief:
    """Return the belief with the tilted moments `E[gamma]`, `E[gamma**2]`, `E[w]` and `E[w**2]`.

    The moments of the weight follow from the derivatives of log K, as for any Gaussian (Minka,
    "Expectation propagation for approximate Bayesian inference", 2001).
    """
    # Overflows make the result improper, so the update is skipped.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        shape, rate = matched_shape(belief, tilted, printed), matched_rate(belief, tilted)
    mean = belief.weight_mean + belief.variance * tilted.slope_mean
    decrease = tilted.slope_mean**2 - 2 * tilted.slope_variance
    return Belief(shape, rate, mean, belief.variance - belief.variance**2 * decrease)


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
        total: Array = normaliser - self.model.prior.log_normaliser()
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
    return np.asarray(is_proper(belief) & (belief.shape > MIN_SHAPE))


def is_proper(belief: Belief) -> Array:
    """Return whether the belief is a distribution, `[R]`."""
    finite = np.isfinite(belief.shape) & np.isfinite(belief.rate) & np.isfinite(belief.variance)
    return np.asarray(finite & (belief.shape > 0) & (belief.rate > 0) & (belief.variance > 0))


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
