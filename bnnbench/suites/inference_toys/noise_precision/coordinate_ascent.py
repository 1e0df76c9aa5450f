"""Coordinate ascent variational inference, section 3.2.1.7 and appendix A.2."""

from __future__ import annotations

from dataclasses import replace

from bnnbench.suites.inference_toys.noise_precision.families import Belief
from bnnbench.suites.inference_toys.noise_precision.model import LinearModel, evidence_lower_bound

MAX_ITERATIONS = 200
"""Maximum number of iterations; a handful suffice."""

TOLERANCE = 1e-12
"""Relative change of the lower bound over an iteration at convergence."""


def update_weight(model: LinearModel, belief: Belief) -> Belief:
    """Return the belief with the optimal factor of the weight, (3.27)."""
    xx, xy, _ = model.products
    prior = model.prior
    precision = xx * belief.mean + 1 / prior.variance
    mean = (xy * belief.mean + prior.weight_mean / prior.variance) / precision
    return replace(belief, weight_mean=mean, variance=1 / precision)


def update_precision(model: LinearModel, belief: Belief, printed: bool) -> Belief:
    """Return the belief with the optimal factor of the noise precision, (3.29).

    The log-likelihood of N observations contains `N/2 log gamma`, so the shape increases by `N/2`.
    Equations (3.28) and (3.29) print `1/2`, the term of a single observation, with the squared
    residuals of all of them; the bound then decreases.
    """
    xx, xy, yy = model.products
    residuals = yy - 2 * belief.weight_mean * xy + (belief.weight_mean**2 + belief.variance) * xx
    n_terms = 1 if printed else model.rows
    prior = model.prior
    return replace(belief, shape=prior.shape + 0.5 * n_terms, rate=prior.rate + 0.5 * residuals)


def run_cavi(model: LinearModel, printed: bool = False) -> list[Belief]:
    """Alternate both updates until the bound converges; returns the prior and all updates."""
    beliefs = [model.prior]
    for _ in range(MAX_ITERATIONS):
        beliefs.append(update_weight(model, beliefs[-1]))
        beliefs.append(update_precision(model, beliefs[-1], printed))
        before, after = (evidence_lower_bound(model, beliefs[index]) for index in (-3, -1))
        if abs(after - before) < TOLERANCE * abs(after):
            break
    return beliefs
