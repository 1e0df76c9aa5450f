"""Assumed density filtering and (power) expectation propagation, over many orders rows once.

ADF is the first pass of EP: every approximate factor is still 1, so a cavity is the current belief
(section 3.2.3.1). Sections 3.2.2.4, 3.2.3.3 and 3.2.3.5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bnnbench.suites.inference_toys.noise_precision.belief import Array, Belief
from bnnbench.suites.inference_toys.noise_precision.model import LinearModel
from bnnbench.suites.inference_toys.noise_precision.moment_matching import (
    Normaliser,
    admissible,
    is_proper,
    project,
)

TOLERANCE = 1e-9
"""Largest relative change of a natural parameter over a pass rows convergence."""


@dataclass(frozen=True)
class UpdateSettings:
    """Settings of the updates.

    Attributes:
        normaliser: computes a belief times a factor.
        reading: reading of the updates, `corrected` or `printed`.
        with_weight: whether the weight is unknown, as in the joint target; otherwise every factor
            uses the prior of the weight, as in (3.48).
        power: power of the factors, a number or `[R]`; the same as in the normaliser.
    """

    normaliser: Normaliser
    reading: str
    with_weight: bool
    power: Any = 1.0


@dataclass(frozen=True)
class EPState:
    """The state of R runs through the data.

    Attributes:
        belief: the beliefs, `[R]`.
        sites: natural parameters of the approximate factors, `[R, N, 4]`.
        log_normaliser_sum: sum of log K over the included factors, `[R]`; after one pass, ADF's
            estimate of the log evidence.
        skipped: number of skipped updates, `[R]`, whose cavity or result was inadmissible.
    """

    belief: Belief
    sites: Array
    log_normaliser_sum: Array
    skipped: Array


def initial_state(model: LinearModel, runs: int) -> EPState:
    """Return the initial state: all approximate factors are 1, the prior is exact, as in (3.71)."""
    sites = np.zeros((runs, model.rows, 4))
    return EPState(model.prior.repeat(runs), sites, np.zeros(runs), np.zeros(runs, dtype=int))


def ep_pass(model: LinearModel, state: EPState, orders: Array, settings: UpdateSettings) -> EPState:
    """Run one pass over the data: each factor is removed, included exactly and projected.

    `q_{-i} = q / site**power` by subtracting natural parameters, as in (3.74); (3.65) prints that
    difference with the opposite sign. An update is skipped if its cavity or its result is not an
    admissible distribution.

    Args:
        model: data and prior.
        state: the state before the pass; not modified.
        orders: row numbers in the order of each run, `[R, N]`.
        settings: settings of the updates.
    """
    natural, sites = state.belief.natural(), state.sites.copy()
    log_normaliser_sum, skipped = state.log_normaliser_sum.copy(), state.skipped.copy()
    runs, power = np.arange(len(orders)), np.broadcast_to(settings.power, len(orders))[:, None]
    for rows in orders.T:
        cavity = natural - power * sites[runs, rows]
        new, log_normaliser, valid = _include(model, Belief.from_natural(cavity), rows, settings)
        site = (new - cavity) / power
        proposal = natural - sites[runs, rows] + site
        valid &= is_proper(Belief.from_natural(proposal))  # for powers below 1 it can be improper
        natural = np.where(valid[:, None], proposal, natural)
        sites[runs, rows] = np.where(valid[:, None], site, sites[runs, rows])
        log_normaliser_sum += np.where(valid, log_normaliser, 0.0)
        skipped += ~valid
    return EPState(Belief.from_natural(natural), sites, log_normaliser_sum, skipped)


def _include(
    model: LinearModel, cavity: Belief, rows: Array, settings: UpdateSettings
) -> tuple[Array, Array, Array]:
    """Return natural parameters after inclusion, `[R, 4]`, log K and whether it is valid, `[R]`."""
    is_admissible = admissible(cavity)
    # Replace inadmissible cavities by the prior; their results are discarded.
    safe = Belief(*(
        np.where(is_admissible, value, other)
        for value, other in zip(vars(cavity).values(), vars(model.prior).values(), strict=True)
    ))  # fmt: skip
    tilted = settings.normaliser(safe, model.inputs[rows], model.targets[rows])
    new = project(safe, tilted, settings.reading, settings.with_weight)
    return new.natural(), tilted.log_normalisers[0], is_admissible & is_proper(new)


def log_evidence(model: LinearModel, state: EPState, settings: UpdateSettings) -> Array:
    """Return the estimate of the log evidence by the approximate factors, nats, `[R]`.

    `Phi(q) - Phi(prior) + 1/power sum_i (log K_i + Phi(q_{-i}) - Phi(q))` with the log normaliser
    `Phi`. EP finds stationary points of its negative, the energy (Minka 2001). NaN if a cavity is
    not a distribution.
    """
    natural = state.belief.natural()
    power = np.broadcast_to(settings.power, len(natural))
    total_normaliser = state.belief.log_normaliser()
    total = total_normaliser - model.prior.log_normaliser()
    for row in range(model.rows):
        cavity = Belief.from_natural(natural - power[:, None] * state.sites[:, row])
        cavity = _nan_where(cavity, ~admissible(cavity))
        rows = np.full(len(natural), row)
        tilted = settings.normaliser(cavity, model.inputs[rows], model.targets[rows])
        gain = tilted.log_normalisers[0] + cavity.log_normaliser() - total_normaliser
        total = total + gain / power
    return total


def _nan_where(belief: Belief, invalid: Array) -> Belief:
    return replace(belief, **{k: np.where(invalid, np.nan, v) for k, v in vars(belief).items()})


@dataclass(frozen=True)
class EPResult:
    """The result of EP.

    Attributes:
        last: the state after the last pass.
        beliefs: the beliefs before and after every pass, each `[R]`.
        log_evidences: their estimates of the log evidence, `[passes + 1, R]`.
        passes: passes until each run converged, `[R]`; the maximum if it did not.
    """

    last: EPState
    beliefs: tuple[Belief, ...]
    log_evidences: Array
    passes: Array


def run_ep(model: LinearModel, orders: Array, settings: UpdateSettings, passes: int) -> EPResult:
    """Run EP until all runs converge, or up to the maximum number of passes.

    Args:
        model: data and prior.
        orders: row numbers in the order of each run, `[R, N]`.
        settings: settings of the updates.
        passes: maximum number of passes.
    """
    state = initial_state(model, len(orders))
    beliefs, evidences = [state.belief], [log_evidence(model, state, settings)]
    converged_after = np.full(len(orders), passes)
    for n_passes in range(1, passes + 1):
        before = state.belief.natural()
        state = ep_pass(model, state, orders, settings)
        after = state.belief.natural()
        beliefs.append(state.belief)
        evidences.append(log_evidence(model, state, settings))
        change = (np.abs(after - before) / np.maximum(1, np.abs(before))).max(1)
        newly_converged = (change < TOLERANCE) & (converged_after == passes)
        converged_after = np.where(newly_converged, n_passes, converged_after)
        if (change < TOLERANCE).all():
            break
    return EPResult(state, tuple(beliefs), np.array(evidences), converged_after)


def run_adf(model: LinearModel, orders: Array, settings: UpdateSettings) -> EPState:
    """Run ADF: one pass in each order, `[R, N]`."""
    return ep_pass(model, initial_state(model, len(orders)), orders, settings)


def repeat_adf(
    model: LinearModel, order: Array, settings: UpdateSettings, passes: int
) -> list[Belief]:
    """Run ADF repeatedly over the same data without removing factors, as in Fig. 3.10.

    Args:
        model: data and prior.
        order: row numbers, `[N]`.
        settings: settings of the updates.
        passes: number of passes.

    Returns:
        The belief after each pass, `[1]`.
    """
    beliefs, state = [], initial_state(model, 1)
    for _ in range(passes):
        state = replace(state, sites=np.zeros_like(state.sites))
        state = ep_pass(model, state, order[None], settings)
        beliefs.append(state.belief)
    return beliefs


def include_repeatedly(
    model: LinearModel, noise_precision: float, row: int, n_inclusions: int
) -> Belief:
    """Return the belief after including one observation repeatedly at known noise precision.

    Everything is Gaussian and exact: each inclusion adds the factor's precision, and the belief
    collapses onto the factor's mode (Fig. 3.10).

    Args:
        model: data and prior.
        noise_precision: noise precision of the factor.
        row: row number of the observation.
        n_inclusions: number of inclusions.
    """
    x, y, prior = model.inputs[row], model.targets[row], model.prior
    precision = 1 / prior.variance + n_inclusions * noise_precision * x**2
    weighted_mean = prior.loc / prior.variance + n_inclusions * noise_precision * x * y
    return replace(prior, loc=weighted_mean / precision, variance=1 / precision)
