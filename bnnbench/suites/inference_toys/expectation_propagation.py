"""Expectation propagation (EP) in an exponential family, in several orders of the factors at once.

Cinelli et al., section 3.2.3, Algorithm 1: each factor of the posterior is approximated by a site,
an unnormalised member of the family. An update divides one site out of the approximation, includes
the exact factor, projects the product onto the family and obtains the new site. Power EP replaces
factor and site by powers of them, (3.66)-(3.67). In natural parameters, products are sums. The
first pass from flat sites is assumed density filtering (ADF), section 3.2.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from bnnbench.suites.inference_toys.maths import Array


class Family(Protocol):
    """Members of an exponential family with P parameters, one for each of R runs."""

    @classmethod
    def from_natural(cls, natural: Array) -> Self:
        """Return the members with these natural parameters, `[R, P]`."""

    def natural(self) -> Array:
        """Return the natural parameters, `[R, P]`."""


FamilyT = TypeVar("FamilyT", bound=Family)


class SiteUpdate(NamedTuple):
    """The update of one site in each run.

    Attributes:
        total: natural parameters of the new approximation, `[R, P]`.
        site: natural parameters of the new site, `[R, P]`.
        log_scale: log of the constant that belongs to the site, `[R]`.
        is_valid: whether all are distributions where they must be; if not, the update is skipped.
    """

    total: Array
    site: Array
    log_scale: Array
    is_valid: Array


Update = Callable[[Array, Array, Array], SiteUpdate]
"""Maps approximation and old site, `[R, P]` each, and the factor of each run, `[R]`."""


@dataclass(frozen=True)
class EPState(Generic[FamilyT]):
    """The state of R runs with N factors.

    Attributes:
        q: the approximations.
        sites: natural parameters of the sites, `[R, N, P]`. A site need not be a distribution.
        log_scales: their log constants, `[R, N]`.
        skipped: number of skipped updates, `[R]`.
    """

    q: FamilyT
    sites: Array
    log_scales: Array
    skipped: Array


@dataclass(frozen=True)
class EPResult(Generic[FamilyT]):
    """The result of EP.

    Attributes:
        last: the state after the last pass.
        estimates: the estimates before the first and after each of K passes, `[K + 1, M, R]`.
        passes: passes until convergence, `[R]`; infinite without convergence.
    """

    last: EPState[FamilyT]
    estimates: Array
    passes: Array


def flat_sites(prior: FamilyT, count: int) -> EPState[FamilyT]:
    """Return the initial state: the prior, exact, and `count` sites that are 1."""
    runs, parameters = prior.natural().shape
    sites, log_scales = np.zeros((runs, count, parameters)), np.zeros((runs, count))
    return EPState(prior, sites, log_scales, np.zeros(runs, dtype=int))


def ep_pass(state: EPState[FamilyT], orders: Array, update: Update) -> EPState[FamilyT]:
    """Update every site once, in the order of each run, `[R, N]`."""
    total, skipped = state.q.natural(), state.skipped.copy()
    sites, log_scales = state.sites.copy(), state.log_scales.copy()
    runs = np.arange(len(orders))
    for factors in orders.T:
        new = update(total, sites[runs, factors], factors)
        valid = new.is_valid
        total = np.where(valid[:, None], new.total, total)
        sites[runs[valid], factors[valid]] = new.site[valid]
        log_scales[runs[valid], factors[valid]] = new.log_scale[valid]
        skipped += ~valid
    return EPState(state.q.from_natural(total), sites, log_scales, skipped)


def run_ep(
    state: EPState[FamilyT],
    orders: Array,
    update: Update,
    estimate: Callable[[EPState[FamilyT]], Array],
    passes: int,
    tolerance: float,
) -> EPResult[FamilyT]:
    """Run EP until all runs converge, or up to the maximum number of passes.

    Args:
        state: the initial state.
        orders: the order in which each run visits the factors, `[R, N]`.
        update: the update of one site.
        estimate: returns M numbers to record for each run, `[M, R]`.
        passes: maximum number of passes.
        tolerance: a run has converged if a pass changes its estimates by at most this, relative to
            values that exceed 1.
    """
    estimates, changes = [estimate(state)], []
    for _ in range(passes):
        state = ep_pass(state, orders, update)
        estimates.append(estimate(state))
        change, size = np.abs(estimates[-1] - estimates[-2]), np.abs(estimates[-1])
        changes.append((change > tolerance * np.maximum(1, size)).any(0))
        if not changes[-1].any():
            break
    # Convergence is detected by the first pass without a change.
    first_unchanged = (np.stack(changes) * np.arange(1, len(changes) + 1)[:, None]).max(0) + 1
    converged_after = np.where(first_unchanged <= len(changes), first_unchanged, np.inf)
    return EPResult(state, np.stack(estimates), converged_after)
