"""Coordinate ascent variational inference, section 3.2.1.7 and appendix A.2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bnnbench.suites.inference_toys.noise_precision.belief import Belief
from bnnbench.suites.inference_toys.noise_precision.model import LinearModel, evidence_lower_bound
from bnnbench.suites.inference_toys.noise_precision.names import PRINTED

MAX_ITERATIONS = 200
"""Maximum number of iterations; a handful suffice."""

TOLERANCE = 1e-12
"""Relative change of the lower bound over an iteration at convergence."""


@dataclass(frozen=True)
class CAVIResult:
    """The iterates of coordinate ascent.

    Attributes:
        beliefs: the prior, and the belief after every update of one factor.
        bounds: their evidence lower bounds, nats.
    """

    beliefs: tuple[Belief, ...]
    bounds: tuple[float, ...]

    @property
    def belief(self) -> Belief:
        """The last belief."""
        return self.beliefs[-1]

    @property
    def iterations(self) -> int:
        """The number of iterations, each of which updates both factors."""
        return len(self.bounds) // 2


def update_weight(model: LinearModel, belief: Belief) -> Belief:
    """Return the belief with the optimal factor of the weight, (3.27)."""
    xx, xy, _ = model.products
    precision = xx * belief.mean + 1 / model.prior.variance
    loc = (xy * belief.mean + model.prior.loc / model.prior.variance) / precision
    return replace(belief, loc=loc, variance=1 / precision)


def update_precision(model: LinearModel, belief: Belief, reading: str) -> Belief:
    """Return the belief with the optimal factor of the noise precision, (3.29).

    The log-likelihood of N observations contains `N/2 log gamma`, so the shape increases by `N/2`.
    Equations (3.28) and (3.29) print `1/2`, the term of a single observation, with the squared
    residuals of all of them; the bound then decreases.

    Args:
        model: data and prior.
        belief: provides the factor of the weight.
        reading: `corrected` or `printed`.
    """
    xx, xy, yy = model.products
    residuals = yy - 2 * belief.loc * xy + (belief.loc**2 + belief.variance) * xx
    n_terms = 1 if reading == PRINTED else model.rows
    return replace(
        belief,
        shape=model.prior.shape + 0.5 * n_terms,
        rate=model.prior.rate + 0.5 * residuals,
    )


def run_cavi(model: LinearModel, reading: str) -> CAVIResult:
    """Alternate both updates from the prior until the lower bound converges.

    Args:
        model: data and prior.
        reading: reading of (3.29).
    """
    beliefs, bounds = [model.prior], [float(evidence_lower_bound(model, model.prior))]
    for _ in range(MAX_ITERATIONS):
        after_weight = update_weight(model, beliefs[-1])
        after_both = update_precision(model, after_weight, reading)
        beliefs += [after_weight, after_both]
        bounds += [float(evidence_lower_bound(model, b)) for b in (after_weight, after_both)]
        if abs(bounds[-1] - bounds[-3]) < TOLERANCE * abs(bounds[-1]):
            break
    return CAVIResult(tuple(beliefs), tuple(bounds))
