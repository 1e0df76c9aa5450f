"""Black-box alpha: power EP's energy with one approximate factor for all, section 3.2.4.2.

The section says that its fixed points become those of power EP in the limit of infinite data. Those
of the spread do not here: factors differ by their inputs, tying them neglects how much, and at
power 1/2 and more the deviations stay as far too large with a hundred observations as with twenty.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.noise_precision.belief import Array, Belief
from bnnbench.suites.inference_toys.noise_precision.model import Line
from bnnbench.suites.inference_toys.noise_precision.moment_matching import QuadratureNormaliser


def log_evidence(line: Line, belief: Belief, power: float) -> float:
    """The estimate of the log evidence with all N approximate factors alike, nats.

    Each is the N-th root of belief over prior, so there is one cavity. The limit of power 0 is the
    evidence lower bound; minus this is the energy that black-box alpha minimises.

    Args:
        line: data and prior.
        belief: the approximation.
        power: of the factors, above 0 to 1.
    """
    whole, first = belief.natural(), line.prior.natural()
    cavity = Belief.of_natural(whole - power * (whole - first) / line.rows)
    factors = (cavity.stacked(line.rows), line.inputs, line.targets)
    tilted = QuadratureNormaliser(power)(*factors)
    gains = tilted.log_normalisers[0] + cavity.log_normaliser() - belief.log_normaliser()
    total = belief.log_normaliser() - line.prior.log_normaliser() + gains.sum() / power
    return float(total)


def black_box_alpha(line: Line, power: float, begin: Belief) -> tuple[Belief, float]:
    """The belief of least energy, and its estimate of the log evidence.

    By quadrature and a quasi-Newton method where the source has Monte Carlo and stochastic
    gradients: what differs from power EP is then the tied factors alone.

    Args:
        line: data and prior.
        power: of the factors, above 0 to 1.
        begin: where the search starts.
    """
    # Steps of the search in units of the start's own deviations, so that it is well conditioned.
    units = np.array([begin.shape**-0.5, begin.shape**-0.5, begin.weight_std, 1.0])
    origin = np.array([np.log(begin.mean), np.log(begin.shape), begin.loc, np.log(begin.variance)])

    def of(free: Array) -> Belief:
        mean, shape, loc, variance = origin + units * free
        return Belief(np.exp(shape), np.exp(shape - mean), loc, np.exp(variance))

    def energy(free: Array) -> float:
        return -log_evidence(line, of(free), power)

    # Wide differences: the energy of many factors carries rounding.
    found = minimize(energy, np.zeros(4), method="BFGS", jac="3-point", options={"gtol": 1e-6})
    return of(found.x), -float(found.fun)
