"""Coordinate ascent, stochastic variational inference and variational EM for the mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from bnnbench.suites.inference_toys.gaussian_mixture.model import MixtureFactors, elbo
from bnnbench.suites.inference_toys.mixtures import Ascent, ascend


def responsibilities(points: np.ndarray, loc: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the optimal `q(c_i)` given `q(mu)`, `[..., N, K]` (thesis, below 3.6.2).

    The points have shape `[..., N]`, the moments of the means `[..., K]`.
    """
    logs = points[..., None] * loc[..., None, :] - 0.5 * (variance + loc**2)[..., None, :]
    weights: np.ndarray = softmax(logs, axis=-1)
    return weights


def update_means(
    points: np.ndarray, weights: np.ndarray, prior_variance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of the optimal `q(mu_k)`, `[K]`, given responsibilities `[N, K]`.

    The last line of the thesis's completed square lacks its leading minus sign; the density and
    the updates below it are correct.
    """
    precision = 1 / prior_variance + weights.sum(0)
    return points @ weights / precision, 1 / precision


def run_cavi(
    points: np.ndarray, start: np.ndarray, prior_variance: float, iterations: int, tolerance: float
) -> Ascent[MixtureFactors]:
    """Run coordinate ascent on points `[N]` until the ELBO converges (thesis, Algorithm 3).

    The expectations of the means begin at `start`, `[K]`, their variances at 1 and the
    responsibilities at `1 / K`.
    """

    def step(factors: MixtureFactors) -> MixtureFactors:
        weights = responsibilities(points, factors.loc, factors.variance)
        return MixtureFactors(*update_means(points, weights, prior_variance), weights)

    uniform = np.full((len(points), len(start)), 1 / len(start))
    first = MixtureFactors(start, np.ones_like(start), uniform)
    return ascend(step, first, lambda q: elbo(points, q, prior_variance), iterations, tolerance)


@dataclass(frozen=True)
class EStep:
    """The factors that are optimal at a prior variance, and their ELBO in nats."""

    prior_variance: float
    elbo: float
    factors: MixtureFactors

    @property
    def second_moment(self) -> float:
        """Sum over components of `E_q[mu_k^2]`."""
        return float((self.factors.loc**2 + self.factors.variance).sum())


def fit_prior_variance(
    points: np.ndarray, start: np.ndarray, prior_variance: float, iterations: int, tolerance: float
) -> Ascent[EStep]:
    """Fit the prior variance of the means by variational EM (book, section 3.2.1.4, steps 1 and 2).

    The E-step runs coordinate ascent to convergence at the current prior variance ("an iterative
    process" in Alvarez's lecture); the M-step maximises the ELBO over the prior variance with these
    factors fixed. The limits apply to the E-steps and to the iterations in each.
    """

    def e_step(prior_variance: float, loc: np.ndarray) -> EStep:
        cavi = run_cavi(points, loc, prior_variance, iterations, tolerance)
        return EStep(prior_variance, cavi.objective[-1], cavi.states[-1])

    def step(last: EStep) -> EStep:
        return e_step(last.second_moment / len(start), last.factors.loc)

    return ascend(
        step, e_step(prior_variance, start), lambda last: last.elbo, iterations - 1, tolerance
    )


def step_sizes(steps: int, power: float, scale: float = 1.0) -> list[float]:
    """Return `scale * (t + 1)^-power` for `t = 0, 1, ...`.

    The conditions (3.19) are an infinite sum, which requires `power <= 1`, and a finite sum of
    squares, which requires `power > 1 / 2`. A power of 0 gives constant steps.
    """
    return [scale * (t + 1.0) ** -power for t in range(steps)]


def run_stochastic_vi(
    points: np.ndarray,
    start: np.ndarray,
    prior_variance: float,
    steps: Sequence[float],
    batch: int,
    repetitions: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Return the expectations of the means at the start and after every step, `[T + 1, R, K]`.

    Each step draws a minibatch with replacement, computes its responsibilities and the factors of
    the means that would be optimal if the minibatch occurred `N / B` times, and moves a fraction of
    the way towards them (book, section 3.2.1.5): a noisy natural-gradient step (Hoffman, Blei, Wang
    and Paisley, 2013).

    Args:
        points: `[N]`.
        start: initial expectations `[K]` of all repetitions; variances start at 1.
        prior_variance: of the means.
        steps: step sizes, `[T]`.
        batch: size of a minibatch, `B`.
        repetitions: number of independent repetitions, `R`.
        random: generator of the minibatches.
    """
    loc = np.tile(start, (repetitions, 1))
    precision = np.ones_like(loc)
    # Each step averages the natural parameters, precision * mean and precision.
    weighted = loc * precision
    copies, trajectory = len(points) / batch, [loc]
    for step in steps:
        minibatch = points[random.integers(0, len(points), (repetitions, batch))]
        weights = responsibilities(minibatch, loc, 1 / precision)
        target = copies * (weights * minibatch[..., None]).sum(1)
        weighted = (1 - step) * weighted + step * target
        target = 1 / prior_variance + copies * weights.sum(1)
        precision = (1 - step) * precision + step * target
        loc = weighted / precision
        trajectory.append(loc)
    return np.array(trajectory)
