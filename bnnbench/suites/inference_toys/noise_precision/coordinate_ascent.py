"""Coordinate ascent variational inference, section 3.2.1.7 and appendix A.2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bnnbench.suites.inference_toys.noise_precision.belief import Belief
from bnnbench.suites.inference_toys.noise_precision.model import Line, evidence_lower_bound
from bnnbench.suites.inference_toys.noise_precision.tables import PRINTED

ITERATIONS = 200
"""At most; it rests after a handful."""

TOLERANCE = 1e-12
"""Change of the lower bound over an iteration, relative to it, at which it has converged."""


@dataclass(frozen=True)
class Ascent:
    """Where coordinate ascent ended, and its way.

    Attributes:
        beliefs: the start, and what every update of one factor came to.
        bounds: their lower bounds, nats.
    """

    beliefs: tuple[Belief, ...]
    bounds: tuple[float, ...]

    @property
    def belief(self) -> Belief:
        """The last."""
        return self.beliefs[-1]

    @property
    def iterations(self) -> int:
        """Updates of both factors."""
        return len(self.bounds) // 2


def weight_update(line: Line, belief: Belief) -> Belief:
    """The factor of the weight that is best beside this one of the noise precision, (3.27)."""
    xx, xy, _ = line.products
    precision = xx * belief.mean + 1 / line.prior.variance
    loc = (xy * belief.mean + line.prior.loc / line.prior.variance) / precision
    return replace(belief, loc=loc, variance=1 / precision)


def precision_update(line: Line, belief: Belief, reading: str) -> Belief:
    """The factor of the noise precision that is best beside this one of the weight, (3.29).

    The log-likelihood of N observations holds `N/2 log gamma`, so the shape grows by `N/2`.
    Equations (3.28) and (3.29) print `1/2`, the term of a single observation, beside the squared
    residuals of all of them; the bound then falls.

    Args:
        line: data and prior.
        belief: whose weight is kept.
        reading: `corrected` or `printed`.
    """
    xx, xy, yy = line.products
    residuals = yy - 2 * belief.loc * xy + (belief.loc**2 + belief.variance) * xx
    counted = 1 if reading == PRINTED else line.rows
    return replace(
        belief,
        shape=line.prior.shape + 0.5 * counted,
        rate=line.prior.rate + 0.5 * residuals,
    )


def ascend(line: Line, reading: str) -> Ascent:
    """Both updates in turn from the prior, until the lower bound stands still.

    Args:
        line: data and prior.
        reading: of (3.29).
    """
    beliefs, bounds = [line.prior], [float(evidence_lower_bound(line, line.prior))]
    for _ in range(ITERATIONS):
        first = weight_update(line, beliefs[-1])
        second = precision_update(line, first, reading)
        beliefs += [first, second]
        bounds += [float(evidence_lower_bound(line, belief)) for belief in (first, second)]
        if abs(bounds[-1] - bounds[-3]) < TOLERANCE * abs(bounds[-1]):
            break
    return Ascent(tuple(beliefs), tuple(bounds))
