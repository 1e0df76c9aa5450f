"""The part of a run on stochastic VI: distances to CAVI's fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.gaussian_mixture import names
from bnnbench.suites.inference_toys.gaussian_mixture.problem import (
    PartResults,
    Problem,
    Row,
    best_start,
)
from bnnbench.suites.inference_toys.gaussian_mixture.stochastic import Schedule, run_stochastic_vi

CLOSE_DISTANCE = 0.1
"""Distance from CAVI's fixed point for `names.PASSES`."""


@dataclass(frozen=True)
class Budget:
    """The size of the stochastic VI runs.

    Attributes:
        batch: size of a minibatch.
        passes: number of passes through all points.
        repetitions: number of repetitions, each with its own minibatches.
    """

    batch: int
    passes: int
    repetitions: int


def stochastic_vi(problem: Problem, schedules: Sequence[Schedule], budget: Budget) -> PartResults:
    """Run stochastic VI from the start with the highest ELBO after coordinate ascent."""
    cavi = problem.run_all_starts()
    best = best_start(cavi)
    points, start, fixed_point = problem.data.draw(), problem.start(best), cavi[best].loc[-1]
    cavi_distances = distance(cavi[best].loc, fixed_point)
    steps = budget.passes * len(points) // budget.batch
    passes = np.arange(steps + 1) * budget.batch / len(points)
    saved = np.unique(np.round(np.geomspace(1, steps, 80)).astype(int))
    rows = _distance_rows(names.CAVI, np.arange(1, len(cavi_distances)), cavi_distances[1:, None])
    cavi_passes = float(np.argmax(cavi_distances < CLOSE_DISTANCE))
    answers = [Answer(names.PASSES, names.CAVI, cavi_passes, names.MANY_POINTS)]
    for index, schedule in enumerate(schedules):
        random = np.random.default_rng([problem.seed, best, index])
        sizes = budget.batch, steps, budget.repetitions
        loc = run_stochastic_vi(points, start, problem.prior_variance, schedule, *sizes, random)
        distances = distance(loc, fixed_point)
        rows += _distance_rows(schedule.name, passes[saved], distances[saved])
        answers += _answers(schedule.name, passes, distances)
    return PartResults(answers, {names.STOCHASTIC: rows})


def _distance_rows(schedule: str, passes: np.ndarray, distances: np.ndarray) -> list[Row]:
    """Return one row per element of `passes`, `[T]`, and repetition; `distances` is `[T, R]`."""
    return [
        {"schedule": schedule, "repetition": r, "passes": float(n_passes), "distance": value}
        for n_passes, values in zip(passes, distances.tolist(), strict=True)
        for r, value in enumerate(values)
    ]


def distance(loc: np.ndarray, fixed_point: np.ndarray) -> np.ndarray:
    """Return the root mean square over components of `loc - fixed_point`, `[..., K]` to `[...]`."""
    return np.sqrt(((loc - fixed_point) ** 2).mean(-1))


def _answers(schedule: str, passes: np.ndarray, distances: np.ndarray) -> list[Answer]:
    """Return means and standard errors over repetitions; `distances` is `[T + 1, R]`."""

    def summary(quantity: str, values: np.ndarray) -> Answer:
        error = float(values.std(ddof=1) / np.sqrt(len(values)))
        mean = float(values.mean())
        return Answer(quantity, names.STOCHASTIC_VI, mean, schedule, standard_error=error)

    tenth = max(1, len(distances) // 10)
    answers = [
        summary(names.EARLY_DISTANCE, distances[tenth : 2 * tenth].mean(0)),
        summary(names.LATE_DISTANCE, distances[-tenth:].mean(0)),
    ]
    if (distances < CLOSE_DISTANCE).any(0).all():
        answers.append(summary(names.PASSES, passes[np.argmax(distances < CLOSE_DISTANCE, axis=0)]))
    return answers
