"""Expectation maximisation, and how it may end."""

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

FEWEST = 1e-12
"""Points, by responsibility, of which a mean can still be taken."""

CONVERGED, COLLAPSED, EMPTY, UNFINISHED = "converged", "collapsed", "empty", "unfinished"


@dataclass(frozen=True)
class Ending:
    """How a fit ended.

    Attributes:
        status: `converged`; `collapsed` if a component shrank onto one value, where the likelihood
            has no maximum; `empty` if one lost all its points; `unfinished` if iterations ran out.
        said: the same as a sentence.
    """

    status: str
    said: str


@dataclass(frozen=True)
class Fit:
    """The path of one start; index 0 is the start.

    Attributes:
        parameters: theta at each iteration, `T + 1` of them.
        log_likelihood: of each, `[T + 1]`, nats.
        bound: of each with the `q` of its own E-step, `[T + 1]`, nats.
        ending: why it stopped.
    """

    parameters: Sequence[Parameters]
    log_likelihood: np.ndarray
    bound: np.ndarray
    ending: Ending

    @property
    def largest_fall(self) -> float:
        """The most by which an iteration lowered the log-likelihood, nats; 0 if none did."""
        return float(max(0.0, (-np.diff(self.log_likelihood)).max(initial=0.0)))

    @property
    def sound(self) -> bool:
        """Whether it ended with a likelihood that is a maximum, or near one."""
        return self.ending.status in (CONVERGED, UNFINISHED)


def m_step(points: np.ndarray, q: np.ndarray) -> Parameters:
    """Theta with the highest bound for responsibilities `q`, `[N, 2]`.

    Args:
        points: `[N]`.
        q: both components must have points.
    """
    counts = q.sum(0)
    loc = points @ q / counts
    variance = (q * (points[:, None] - loc) ** 2).sum(0) / counts
    return Parameters(counts / len(points), loc, variance)


def random_start(points: np.ndarray, random: np.random.Generator) -> Parameters:
    """Two different values of the data as means, the data's variance twice, equal weights."""
    loc = random.choice(np.unique(points), 2, replace=False)
    return Parameters(np.full(2, 0.5), loc, np.full(2, points.var()))


def fit(
    points: np.ndarray,
    start: Parameters,
    iterations: int,
    tolerance: float,
    least_variance: float,
) -> Fit:
    """E-steps and M-steps in turn, from one start.

    Args:
        points: `[N]`.
        start: theta.
        iterations: at the most.
        tolerance: rise of the log-likelihood, relative to its size, at which it has converged.
        least_variance: of a component, relative to the data's, below which it has collapsed.
    """
    path, likelihoods, bounds = [start], [log_likelihood(points, start)], []
    ending = None
    while ending is None:
        q = posterior(points, path[-1])
        bounds.append(bound(points, q, path[-1]))
        ending = _ending(likelihoods, iterations, tolerance)
        if ending is None:
            ending = _emptied(q, len(path))
        if ending is None:
            after = m_step(points, q)
            ending = _collapsed(points, after, least_variance, len(path))
        if ending is None:
            path.append(after)
            likelihoods.append(log_likelihood(points, after))
    return Fit(path, np.array(likelihoods), np.array(bounds), ending)


def _ending(likelihoods: Sequence[float], iterations: int, tolerance: float) -> Ending | None:
    """Whether the likelihood stands still or iterations ran out; None to go on."""
    done = len(likelihoods) - 1
    if done and abs(likelihoods[-1] - likelihoods[-2]) <= tolerance * abs(likelihoods[-1]):
        return Ending(CONVERGED, f"converged after {done} iterations")
    if done >= iterations:
        return Ending(UNFINISHED, f"not converged after {done} iterations")
    return None


def _emptied(q: np.ndarray, iteration: int) -> Ending | None:
    """Whether a component has no points of which to take a mean; None if both have."""
    counts = q.sum(0)
    if counts.min() > FEWEST:
        return None
    return Ending(
        EMPTY, f"component {counts.argmin() + 1} lost all its points in iteration {iteration}"
    )


def _collapsed(
    points: np.ndarray, parameters: Parameters, least_variance: float, iteration: int
) -> Ending | None:
    """Whether a component has shrunk onto one value; None if both have a width."""
    k = int(parameters.variance.argmin())
    if parameters.variance[k] >= least_variance * points.var():
        return None
    said = (
        f"component {k + 1} collapsed onto y = {parameters.loc[k]:.4g} in iteration {iteration}: "
        f"its variance fell to {parameters.variance[k]:.1e}, and the likelihood has no maximum"
    )
    return Ending(COLLAPSED, said)
