"""Black-box alpha: the energy of power EP with tied approximate factors, section 3.2.4.2.

According to the section, its fixed points approach those of power EP with infinite data. Here the
standard deviations do not: the factors differ by their inputs, which tying ignores. At power 1/2
and above, the standard deviations are too large with a hundred observations as with twenty.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from bnnbench.suites.inference_toys.noise_precision.belief import Array, Belief
from bnnbench.suites.inference_toys.noise_precision.model import LinearModel
from bnnbench.suites.inference_toys.noise_precision.moment_matching import QuadratureNormaliser


def log_evidence(model: LinearModel, belief: Belief, power: float) -> float:
    """Return the estimate of the log evidence with N equal approximate factors, in nats.

    Each factor is the N-th root of belief over prior, so there is one cavity. The limit for power 0
    is the evidence lower bound; black-box alpha minimises the negative estimate, its energy.

    Args:
        model: data and prior.
        belief: the approximation.
        power: power of the factors, above 0, at most 1.
    """
    posterior, prior = belief.natural(), model.prior.natural()
    cavity = Belief.from_natural(posterior - power * (posterior - prior) / model.rows)
    factors = (cavity.repeat(model.rows), model.inputs, model.targets)
    tilted = QuadratureNormaliser(power)(*factors)
    gains = tilted.log_normalisers[0] + cavity.log_normaliser() - belief.log_normaliser()
    total = belief.log_normaliser() - model.prior.log_normaliser() + gains.sum() / power
    return float(total)


def black_box_alpha(model: LinearModel, power: float, start: Belief) -> tuple[Belief, float]:
    """Return the belief that minimises the energy, and its estimate of the log evidence.

    Uses quadrature and a quasi-Newton method instead of the source's Monte Carlo and stochastic
    gradients, so that tied factors are the only difference from power EP.

    Args:
        model: data and prior.
        power: power of the factors, above 0, at most 1.
        start: initial belief.
    """
    # Scale the parameters by standard deviations of the start for good conditioning.
    units = np.array([start.shape**-0.5, start.shape**-0.5, start.weight_std, 1.0])
    origin = np.array([np.log(start.mean), np.log(start.shape), start.loc, np.log(start.variance)])

    def to_belief(parameters: Array) -> Belief:
        mean, shape, loc, variance = origin + units * parameters
        return Belief(np.exp(shape), np.exp(shape - mean), loc, np.exp(variance))

    def energy(parameters: Array) -> float:
        return -log_evidence(model, to_belief(parameters), power)

    # Three-point differences, because the energy of many factors has rounding errors.
    result = minimize(energy, np.zeros(4), method="BFGS", jac="3-point", options={"gtol": 1e-6})
    return to_belief(result.x), -float(result.fun)
