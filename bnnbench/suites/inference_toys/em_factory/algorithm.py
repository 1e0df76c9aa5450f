"""Expectation maximisation for the factory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.em_factory.model import Factory, Parameters, log_likelihood

MIN_RELATIVE_ERROR = 1e-9
"""Errors below this are rounding and excluded from the convergence rate."""


@dataclass(frozen=True)
class Trajectory:
    """The iterates of EM.

    Attributes:
        iterates: parameters, beginning with the start.
        log_likelihoods: `[K]`, observed-data log-likelihood of each iterate.
    """

    iterates: tuple[Parameters, ...]
    log_likelihoods: np.ndarray

    def errors(self, maximum: Parameters) -> np.ndarray:
        """Return the largest relative error of any parameter at each iterate, `[K]`."""
        vectors = np.stack([iterate.vector for iterate in self.iterates])
        return np.abs(vectors / maximum.vector - 1).max(1)


def em_step(factory: Factory, parameters: Parameters) -> Parameters:
    """Perform one E-step and M-step, (2.57)-(2.60).

    Missing counts are replaced by their means under the current parameters. The update of beta is
    the second form of (2.57), with the counts in the denominator; the first form, with the rates,
    agrees with it only at a fixed point.
    """
    impure, faulty = factory.impure.astype(float), factory.faulty.astype(float)
    impure[0], faulty[-1] = parameters.rates[0], parameters.beta * parameters.rates[-1]
    beta = faulty.sum() / impure.sum()
    return Parameters(float(beta), (impure + faulty) / (1 + beta))


def run_em(factory: Factory, start: Parameters, iterations: int, tolerance: float) -> Trajectory:
    """Run EM from a start.

    Args:
        factory: the counts; the two hidden ones are not used.
        start: initial parameters.
        iterations: maximum number of iterations.
        tolerance: stop when the relative change of every parameter is at most this.
    """
    iterates = [start]
    for _ in range(iterations):
        iterates.append(em_step(factory, iterates[-1]))
        if np.abs(iterates[-1].vector / iterates[-2].vector - 1).max() <= tolerance:
            break
    return Trajectory(
        tuple(iterates), np.array([log_likelihood(factory, parameters) for parameters in iterates])
    )


def convergence_rate(errors: np.ndarray) -> float:
    """Return the factor by which the error decreases per late iteration; NaN for short runs.

    Args:
        errors: the errors of a trajectory.
    """
    is_rounding = errors < MIN_RELATIVE_ERROR
    measurable = errors[: int(np.argmax(is_rounding))] if is_rounding.any() else errors
    late = measurable[len(measurable) // 2 :]
    if len(late) < 3:
        return float("nan")
    return float((late[-1] / late[0]) ** (1 / (len(late) - 1)))
