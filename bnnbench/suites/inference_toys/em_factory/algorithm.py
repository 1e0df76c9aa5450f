"""Expectation maximisation for the factory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.em_factory.model import Factory, Parameters, log_likelihood

ROUNDING = 1e-9
"""Relative error below which steps are too small to measure a rate by."""


@dataclass(frozen=True)
class Path:
    """Where EM went.

    Attributes:
        steps: the start and what followed.
        log_likelihoods: `[K]`, of what was counted, at each of them.
    """

    steps: tuple[Parameters, ...]
    log_likelihoods: np.ndarray

    def errors(self, maximum: Parameters) -> np.ndarray:
        """`[K]`, the largest relative distance of any parameter from the maximum."""
        vectors = np.stack([step.vector for step in self.steps])
        return np.abs(vectors / maximum.vector - 1).max(1)


def step(factory: Factory, at: Parameters) -> Parameters:
    """One E-step and M-step, (2.57)-(2.60).

    A missing count is replaced by its mean under the parameters so far. The update of beta is the
    second form of (2.57), with the counts in the denominator; the first one, with the rates, agrees
    with it only where nothing moves any more.
    """
    impure, faulty = factory.impure.astype(float), factory.faulty.astype(float)
    impure[0], faulty[-1] = at.rates[0], at.beta * at.rates[-1]
    beta = faulty.sum() / impure.sum()
    return Parameters(float(beta), (impure + faulty) / (1 + beta))


def climb(factory: Factory, start: Parameters, iterations: int, tolerance: float) -> Path:
    """Iterates from a start.

    Args:
        factory: the counts; the two hidden ones are never looked at.
        start: the first guess.
        iterations: at most.
        tolerance: it ends when no parameter moves by more, relative to its size.
    """
    steps = [start]
    for _ in range(iterations):
        steps.append(step(factory, steps[-1]))
        if np.abs(steps[-1].vector / steps[-2].vector - 1).max() <= tolerance:
            break
    return Path(tuple(steps), np.array([log_likelihood(factory, at) for at in steps]))


def measured_rate(errors: np.ndarray) -> float:
    """The factor by which the error falls in the last iterations above rounding; NaN if too few.

    Args:
        errors: of a path.
    """
    kept = errors[: int(np.argmax(errors < ROUNDING))] if (errors < ROUNDING).any() else errors
    late = kept[len(kept) // 2 :]
    if len(late) < 3:
        return float("nan")
    return float((late[-1] / late[0]) ** (1 / (len(late) - 1)))
