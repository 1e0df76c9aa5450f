"""Stochastic variational inference for the mixture (book, section 3.2.1.5).

Each step draws a minibatch with replacement, computes its responsibilities and the factors of the
means that would be optimal if the minibatch occurred `N / B` times, and moves a fraction of the way
towards them: a noisy natural-gradient step (Hoffman, Blei, Wang and Paisley, 2013).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import responsibilities


@dataclass(frozen=True)
class Schedule:
    """Step sizes `scale * (t + 1)^-power`, `t = 0, 1, ...`.

    The conditions (3.19) are an infinite sum, which requires `power <= 1`, and a finite sum of
    squares, which requires `power > 1 / 2`.

    Attributes:
        name: name of the schedule.
        power: power of the decrease; 0 for constant steps.
        scale: the first step size, at most 1.
    """

    name: str
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
