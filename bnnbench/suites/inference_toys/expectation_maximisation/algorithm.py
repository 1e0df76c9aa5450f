"""Expectation maximisation with detection of degenerate solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.expectation_maximisation.model import (
    Parameters,
    bound,
    log_likelihood,
    posterior,
)

MIN_COUNT = 1e-12
"""Smallest total responsibility with which a component can be updated."""

CONVERGED, COLLAPSED, EMPTY, UNFINISHED = "converged", "collapsed", "empty", "unfinished"


@dataclass(frozen=True)
class Ending:
    """Why a fit ended.

    Attributes:
        status: `converged`; `collapsed` if a component shrank onto one value, where the likelihood
            is unbounded; `empty` if a component lost all points; `unfinished` at the maximum
            number of iterations.
        message: the reason in words.
    """

    status: str
    message: str


@dataclass(frozen=True)
class Fit:
    """The iterates of EM from one start; index 0 is the start.

    Attributes:
        parameters: `T + 1` iterates of theta.
        log_likelihood: `[T + 1]`, nats.
        bound: bound after the E-step at each iterate, `[T + 1]`, nats.
        ending: why the fit ended.
    """

    parameters: Sequence[Parameters]
    log_likelihood: np.ndarray
    bound: np.ndarray
    ending: Ending

    @property
    def largest_decrease(self) -> float:
        """Largest decrease of the log-likelihood in an iteration, nats; 0 if there was none."""
        return float(max(0.0, (-np.diff(self.log_likelihood)).max(initial=0.0)))

    @property
    def is_usable(self) -> bool:
        """Whether the last iterate is not degenerate."""
        return self.ending.status in (CONVERGED, UNFINISHED)


def m_step(points: np.ndarray, q: np.ndarray) -> Parameters:
    """Return theta that maximises the bound.

    Args:
        points: `[N]`.
        q: responsibilities, `[N, 2]`; both components must have points.
    """
    counts = q.sum(0)
    loc = points @ q / counts
    variance = (q * (points[:, None] - loc) ** 2).sum(0) / counts
    return Parameters(counts / len(points), loc, variance)


def random_start(points: np.ndarray, random: np.random.Generator) -> Parameters:
    """Draw two distinct data values as means; variances are those of the data, weights equal."""
    loc = random.choice(np.unique(points), 2, replace=False)
    return Parameters(np.full(2, 0.5), loc, np.full(2, points.var()))


def fit(
    points: np.ndarray,
    start: Parameters,
    iterations: int,
    tolerance: float,
    min_variance: float,
) -> Fit:
    """Alternate E-steps and M-steps from one start.

    Args:
        points: `[N]`.
        start: initial theta.
        iterations: maximum number of iterations.
        tolerance: relative change of the log-likelihood below which the fit has converged.
        min_variance: variance, relative to the data's, below which a component has collapsed.
    """
    parameters, likelihoods, bounds = [start], [log_likelihood(points, start)], []
    ending = None
    while ending is None:
        q = posterior(points, parameters[-1])
        bounds.append(bound(points, q, parameters[-1]))
        ending = _check_convergence(likelihoods, iterations, tolerance)
        if ending is None:
            ending = _check_empty(q, len(parameters))
        if ending is None:
            new = m_step(points, q)
            ending = _check_collapse(points, new, min_variance, len(parameters))
        if ending is None:
            parameters.append(new)
            likelihoods.append(log_likelihood(points, new))
    return Fit(parameters, np.array(likelihoods), np.array(bounds), ending)


def _check_convergence(
    likelihoods: Sequence[float], iterations: int, tolerance: float
) -> Ending | None:
    """Return an ending if the likelihood converged or the iterations ran out."""
    done = len(likelihoods) - 1
    if done and abs(likelihoods[-1] - likelihoods[-2]) <= tolerance * abs(likelihoods[-1]):
        return Ending(CONVERGED, f"converged after {done} iterations")
    if done >= iterations:
        return Ending(UNFINISHED, f"not converged after {done} iterations")
    return None


def _check_empty(q: np.ndarray, iteration: int) -> Ending | None:
    """Return an ending if a component has no points."""
    counts = q.sum(0)
    if counts.min() > MIN_COUNT:
        return None
    return Ending(
        EMPTY, f"component {counts.argmin() + 1} lost all its points in iteration {iteration}"
    )


def _check_collapse(
    points: np.ndarray, parameters: Parameters, min_variance: float, iteration: int
) -> Ending | None:
    """Return an ending if a component has shrunk onto one value."""
    k = int(parameters.variance.argmin())
    if parameters.variance[k] >= min_variance * points.var():
        return None
    message = (
        f"component {k + 1} collapsed onto y = {parameters.loc[k]:.4g} in iteration {iteration} "
        f"(variance {parameters.variance[k]:.1e}), where the likelihood is unbounded"
    )
    return Ending(COLLAPSED, message)
