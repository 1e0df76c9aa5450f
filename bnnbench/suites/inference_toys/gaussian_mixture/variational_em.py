"""Variational EM for the prior variance of the mixture's means.

The E-step runs coordinate ascent to convergence at the current prior variance ("an iterative
process" in Alvarez's lecture); the M-step maximises the ELBO over the prior
variance with these factors fixed (book, section 3.2.1.4, steps 1 and 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import run_cavi


@dataclass(frozen=True)
class PriorVarianceFit:
    """The iterates of one start, one entry per E-step.

    Attributes:
        prior_variance: prior variance in the E-step, `[T]`.
        elbo: ELBO after the E-step, nats, `[T]`.
        second_moment: sum over components of `E_q[mu_k^2]`, `[T]`.
        loc: expectations of the means, `[T, K]`.
        converged: whether the ELBO converged within the maximum number of iterations.
    """

    prior_variance: np.ndarray
    elbo: np.ndarray
    second_moment: np.ndarray
    loc: np.ndarray
    converged: bool

    @property
    def largest_decrease(self) -> float:
        """The largest decrease of the ELBO in an iteration, nats; 0 if it never decreased."""
        return float(max(0.0, (-np.diff(self.elbo)).max(initial=0.0)))


def elbo_with_fixed_factors(
    prior_variance: np.ndarray,
    current: float,
    elbo: float,
    second_moment: float,
    components: int,
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


def fit_prior_variance(
    points: np.ndarray, start: np.ndarray, prior_variance: float, iterations: int, tolerance: float
) -> PriorVarianceFit:
    """Alternate E-steps and M-steps, from one start.

    Args:
        points: `[N]`.
        start: initial expectations of the means, `[K]`.
        prior_variance: prior variance in the first E-step.
        iterations: maximum number of E-steps, and of iterations in each.
        tolerance: relative change of the ELBO at convergence.
    """
    states: list[tuple[float, float, float, np.ndarray]] = []
    loc, converged = start, False
    while len(states) < iterations and not converged:
        e_step = run_cavi(points, loc, prior_variance, iterations, tolerance)
        loc, bound = e_step.loc[-1], float(e_step.elbo[-1])
        second_moment = float((loc**2 + e_step.variance[-1]).sum())
        converged = bool(states) and abs(bound - states[-1][1]) <= tolerance * abs(bound)
        states.append((prior_variance, bound, second_moment, loc))
        prior_variance = second_moment / len(loc)
    variances, bounds, moments, locs = map(np.array, zip(*states, strict=True))
    return PriorVarianceFit(variances, bounds, moments, locs, converged)
