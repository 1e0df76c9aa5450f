"""Assumed density filtering and (power) expectation propagation, over many orders at once.

ADF is the first pass of EP: every approximate factor is still 1, and a cavity is what was there
before (section 3.2.3.1). Sections 3.2.2.4, 3.2.3.3 and 3.2.3.5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bnnbench.suites.inference_toys.noise_precision.belief import Array, Belief
from bnnbench.suites.inference_toys.noise_precision.model import Line
from bnnbench.suites.inference_toys.noise_precision.moment_matching import (
    Normaliser,
    admissible,
    is_proper,
    project,
)

TOLERANCE = 1e-9
"""Largest change of a natural parameter over a pass, relative to 1 or to itself, to be at rest."""


@dataclass(frozen=True)
class Rules:
    """How factors are included.

    Attributes:
        normaliser: of belief times factor.
        reading: of the updates, `corrected` or `printed`.
        with_weight: whether the weight is unknown too, as in the joint target; if not, every
            factor sees the weight's prior, as in (3.48).
        power: of the factors, a number or `[R]`; the normaliser's own.
    """

    normaliser: Normaliser
    reading: str
    with_weight: bool
    power: Any = 1.0


@dataclass(frozen=True)
class Passage:
    """R runs through the data and what they keep.

    Attributes:
        belief: of each, `[R]`.
        sites: natural parameters of the approximate factors, `[R, N, 4]`.
        log_included: sums of log K over the factors that came in, `[R]`: after one pass, ADF's
            estimate of the log evidence.
        refused: updates that were left out, `[R]`: of cavities that are no distribution or too
            flat, or to what is no distribution.
    """

    belief: Belief
    sites: Array
    log_included: Array
    refused: Array


def start(line: Line, runs: int) -> Passage:
    """All approximate factors 1, and the prior included exactly, as (3.71) does."""
    none = np.zeros((runs, line.rows, 4))
    return Passage(line.prior.stacked(runs), none, np.zeros(runs), np.zeros(runs, dtype=int))


def sweep(line: Line, state: Passage, orders: Array, rules: Rules) -> Passage:
    """One pass over the data: each factor is taken out, included exactly and projected.

    `q_{-i} = q / site**power` by subtracting natural parameters, as (3.74) does; (3.65) prints that
    difference with the sign reversed. An update that comes to no distribution, or starts from
    none, is refused and leaves everything as it was.

    Args:
        line: data and prior.
        state: before the pass; not changed.
        orders: row numbers in the order of each run, `[R, N]`.
        rules: how factors are included.
    """
    natural, sites = state.belief.natural(), state.sites.copy()
    log_included, refused = state.log_included.copy(), state.refused.copy()
    runs, power = np.arange(len(orders)), np.broadcast_to(rules.power, len(orders))[:, None]
    for rows in orders.T:
        cavity = natural - power * sites[runs, rows]
        new, log_normaliser, allowed = _included(line, Belief.of_natural(cavity), rows, rules)
        site = (new - cavity) / power
        moved = natural - sites[runs, rows] + site
        allowed &= is_proper(Belief.of_natural(moved))  # of a power below 1 it need not be
        natural = np.where(allowed[:, None], moved, natural)
        sites[runs, rows] = np.where(allowed[:, None], site, sites[runs, rows])
        log_included += np.where(allowed, log_normaliser, 0.0)
        refused += ~allowed
    return Passage(Belief.of_natural(natural), sites, log_included, refused)


def _included(line: Line, cavity: Belief, rows: Array, rules: Rules) -> tuple[Array, Array, Array]:
    """Natural parameters after inclusion, `[R, 4]`, log K, and whether it is allowed, `[R]`."""
    usable = admissible(cavity)
    # Where it is not, anything that computes; the result is thrown away.
    safe = Belief(*(
        np.where(usable, part, other)
        for part, other in zip(vars(cavity).values(), vars(line.prior).values(), strict=True)
    ))  # fmt: skip
    tilted = rules.normaliser(safe, line.inputs[rows], line.targets[rows])
    new = project(safe, tilted, rules.reading, rules.with_weight)
    return new.natural(), tilted.log_normalisers[0], usable & is_proper(new)


def log_evidence(line: Line, state: Passage, rules: Rules) -> Array:
    """The estimate of the log evidence by the approximate factors, nats, `[R]`.

    `Phi(q) - Phi(prior) + 1/power sum_i (log K_i + Phi(q_{-i}) - Phi(q))`, with `Phi` the
    log-normaliser; minus it is the energy that EP makes stationary (Minka 2001). NaN where a cavity
    is no distribution.
    """
    natural = state.belief.natural()
    power = np.broadcast_to(rules.power, len(natural))
    whole = state.belief.log_normaliser()
    total = whole - line.prior.log_normaliser()
    for row in range(line.rows):
        cavity = Belief.of_natural(natural - power[:, None] * state.sites[:, row])
        cavity = _nan_where(cavity, ~admissible(cavity))
        at = np.full(len(natural), row)
        tilted = rules.normaliser(cavity, line.inputs[at], line.targets[at])
        gain = tilted.log_normalisers[0] + cavity.log_normaliser() - whole
        total = total + gain / power
    return total


def _nan_where(belief: Belief, wrong: Array) -> Belief:
    return replace(belief, **{k: np.where(wrong, np.nan, v) for k, v in vars(belief).items()})


@dataclass(frozen=True)
class Propagation:
    """What EP came to.

    Attributes:
        last: after the last pass.
        beliefs: the start and what every pass came to, each `[R]`.
        log_evidences: their estimates of it, `[passes + 1, R]`.
        passes: over the data until each run rested, `[R]`; the most allowed where it did not.
    """

    last: Passage
    beliefs: tuple[Belief, ...]
    log_evidences: Array
    passes: Array


def propagate(line: Line, orders: Array, rules: Rules, passes: int) -> Propagation:
    """Passes of EP until no run moves, or until there were enough.

    Args:
        line: data and prior.
        orders: row numbers in the order of each run, `[R, N]`.
        rules: how factors are included.
        passes: at most.
    """
    state = start(line, len(orders))
    beliefs, evidences = [state.belief], [log_evidence(line, state, rules)]
    rested = np.full(len(orders), passes)
    for done in range(1, passes + 1):
        before = state.belief.natural()
        state = sweep(line, state, orders, rules)
        after = state.belief.natural()
        beliefs.append(state.belief)
        evidences.append(log_evidence(line, state, rules))
        moved = (np.abs(after - before) / np.maximum(1, np.abs(before))).max(1)
        rested = np.where((moved < TOLERANCE) & (rested == passes), done, rested)
        if (moved < TOLERANCE).all():
            break
    return Propagation(state, tuple(beliefs), np.array(evidences), rested)


def filtered(line: Line, orders: Array, rules: Rules) -> Passage:
    """ADF: one pass in each order, `[R, N]`."""
    return sweep(line, start(line, len(orders)), orders, rules)


def filtered_again(line: Line, order: Array, rules: Rules, times: int) -> list[Belief]:
    """ADF over the same data again and again, nothing taken out: what Fig. 3.10 warns of.

    Args:
        line: data and prior.
        order: of rows, `[N]`.
        rules: how factors are included.
        times: passes.

    Returns:
        The belief after each pass, `[1]`.
    """
    found, state = [], start(line, 1)
    for _ in range(times):
        state = sweep(line, replace(state, sites=np.zeros_like(state.sites)), order[None], rules)
        found.append(state.belief)
    return found


def repeated_factor(line: Line, noise_precision: float, row: int, times: int) -> Belief:
    """The weight after one observation was included so often, at a known noise precision.

    Everything is Gaussian and nothing is approximated: each inclusion adds the factor's precision,
    and the belief collapses onto the factor's mode (Fig. 3.10).

    Args:
        line: data and prior.
        noise_precision: of the factor.
        row: of the observation.
        times: inclusions.
    """
    x, y, prior = line.inputs[row], line.targets[row], line.prior
    precision = 1 / prior.variance + times * noise_precision * x**2
    pull = prior.loc / prior.variance + times * noise_precision * x * y
    return replace(prior, loc=pull / precision, variance=1 / precision)
