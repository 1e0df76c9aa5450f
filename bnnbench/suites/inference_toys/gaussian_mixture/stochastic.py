"""Stochastic variational inference for the mixture (book, section 3.2.1.5).

Each step draws a minibatch with replacement, finds its responsibilities, computes the means'
factors as though it had been seen `N / B` times, and moves part of the way there: a noisy
natural-gradient step (Hoffman, Blei, Wang and Paisley, 2013).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import responsibilities


@dataclass(frozen=True)
class Schedule:
    """Steps `scale * (t + 1)^-power`, `t = 0, 1, ...`.

    Their sum is infinite if `power <= 1` and that of their squares finite if `power > 1 / 2`, which
    together are the conditions (3.19).

    Attributes:
        name: of the schedule.
        power: 0 for constant steps.
        scale: the first step, at most 1.
    """

    name: str
    power: float
    scale: float = 1.0

    def step(self, t: int) -> float:
        """Part of the way that step `t` goes, counted from 0."""
        return self.scale * (t + 1.0) ** -self.power


def stochastic_ascent(
    points: np.ndarray,
    start: np.ndarray,
    prior_variance: float,
    schedule: Schedule,
    batch: int,
    steps: int,
    repetitions: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Means of the means after every step, `[T + 1, R, K]`; the start is first.

    Args:
        points: `[N]`.
        start: `[K]`, the same for all repetitions; variances start at 1.
        prior_variance: of the means.
        schedule: how far each step goes.
        batch: points of a minibatch, `B`.
        steps: how many, `T`.
        repetitions: independent sequences of minibatches, `R`.
        random: what draws them.
    """
    loc = np.tile(start, (repetitions, 1))
    precision = np.ones_like(loc)
    weighted = loc * precision  # the factor's natural parameters, in which the step is a mean
    times, path = len(points) / batch, [loc]
    for t in range(steps):
        chosen = points[random.integers(0, len(points), (repetitions, batch))]
        weights = responsibilities(chosen, loc, 1 / precision)
        step = schedule.step(t)
        aim = times * (weights * chosen[..., None]).sum(1)
        weighted = (1 - step) * weighted + step * aim
        aim = 1 / prior_variance + times * weights.sum(1)
        precision = (1 - step) * precision + step * aim
        loc = weighted / precision
        path.append(loc)
    return np.array(path)
