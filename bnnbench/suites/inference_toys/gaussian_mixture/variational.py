"""Coordinate ascent, stochastic variational inference and variational EM for the mixture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from bnnbench.suites.inference_toys.gaussian_mixture.model import Factors, elbo
from bnnbench.suites.inference_toys.mixtures import Ascent, ascend


def responsibilities(points: np.ndarray, loc: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the optimal `q(c_i)` given `q(mu)`, `[..., N, K]` (thesis, below 3.6.2).

    Args:
        points: `[..., N]`.
        loc: `[..., K]`.
        variance: `[..., K]`.
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
) -> Ascent[Factors]:
    """Run coordinate ascent from one start (thesis, Algorithm 3).

    Args:
        points: `[N]`.
        start: initial expectations of the means, `[K]`; variances start at 1, responsibilities at
            `1 / K`.
        prior_variance: prior variance of the means.
        iterations: maximum number of iterations.
        tolerance: relative change of the ELBO at convergence.
    """

    def step(factors: Factors) -> Factors:
        weights = responsibilities(points, factors.loc, factors.variance)
        return Factors(*update_means(points, weights, prior_variance), weights)

    uniform = np.full((len(points), len(start)), 1 / len(start))
    first = Factors(start, np.ones_like(start), uniform)
    return ascend(step, first, lambda q: elbo(points, q, prior_variance), iterations, tolerance)


@dataclass(frozen=True)
class EStep:
    """The result of an E-step of variational EM.

    Attributes:
        prior_variance: the current prior variance.
        elbo: ELBO after the E-step, nats.
        factors: the optimal factors.
    """

    prior_variance: float
    elbo: float
    factors: Factors

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
    factors fixed.

    Args:
        points: `[N]`.
        start: initial expectations of the means, `[K]`.
        prior_variance: prior variance in the first E-step.
        iterations: maximum number of E-steps, and of iterations in each.
        tolerance: relative change of the ELBO at convergence.
    """

    def e_step(prior_variance: float, loc: np.ndarray) -> EStep:
        cavi = run_cavi(points, loc, prior_variance, iterations, tolerance)
        return EStep(prior_variance, cavi.objective[-1], cavi.states[-1])

    def step(last: EStep) -> EStep:
        return e_step(last.second_moment / len(start), last.factors.loc)

    return ascend(
        step, e_step(prior_variance, start), lambda last: last.elbo, iterations - 1, tolerance
    )


def elbo_with_fixed_factors(
    prior_variance: np.ndarray, current: float, elbo: float, second_moment: float, components: int
) -> np.ndarray:
    """Return the ELBO in nats as a function of the prior variance, with all factors fixed.

    Args:
        prior_variance: prior variances at which to evaluate the ELBO.
        current: the prior variance at which the ELBO is `elbo`.
        elbo: ELBO at `current`.
        second_moment: sum over components of `E_q[mu_k^2]`.
        components: number of components `K`.
    """
    logs = -0.5 * components * np.log(prior_variance / current)
    values: np.ndarray = elbo + logs - 0.5 * second_moment * (1 / prior_variance - 1 / current)
    return values


@dataclass(frozen=True)
class Schedule:
    """Step sizes `scale * (t + 1)^-power`, `t = 0, 1, ...`.

    The conditions (3.19) are an infinite sum, which requires `power <= 1`, and a finite sum of
    squares, which requires `power > 1 / 2`. A power of 0 gives constant steps.
    """

    power: float
    scale: float = 1.0

    def step_size(self, t: int) -> float:
        """Return the size of step `t`, counted from 0."""
        return self.scale * (t + 1.0) ** -self.power


def run_stochastic_vi(
    points: np.ndarray,
    start: np.ndarray,
    prior_variance: float,
    schedule: Schedule,
    batch: int,
    steps: int,
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
        prior_variance: prior variance of the means.
        schedule: the step sizes.
        batch: size of a minibatch, `B`.
        steps: number of steps, `T`.
        repetitions: number of independent repetitions, `R`.
        random: generator of the minibatches.
    """
    loc = np.tile(start, (repetitions, 1))
    precision = np.ones_like(loc)
    # Each step averages the natural parameters, precision * mean and precision.
    weighted = loc * precision
    copies, trajectory = len(points) / batch, [loc]
    for t in range(steps):
        minibatch = points[random.integers(0, len(points), (repetitions, batch))]
        weights = responsibilities(minibatch, loc, 1 / precision)
        step = schedule.step_size(t)
        target = copies * (weights * minibatch[..., None]).sum(1)
        weighted = (1 - step) * weighted + step * target
        target = 1 / prior_variance + copies * weights.sum(1)
        precision = (1 - step) * precision + step * target
        loc = weighted / precision
        trajectory.append(loc)
    return np.array(trajectory)
