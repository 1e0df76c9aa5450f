"""The part of a run on stochastic VI: distances to coordinate ascent's fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.gaussian_mixture import tables
from bnnbench.suites.inference_toys.gaussian_mixture.scene import Part, Row, Scene, best_of
from bnnbench.suites.inference_toys.gaussian_mixture.stochastic import Schedule, stochastic_ascent

NEAR = 0.1
"""Distance to the fixed point whose first passing is timed."""


@dataclass(frozen=True)
class Budget:
    """How long stochastic VI runs.

    Attributes:
        batch: points of a minibatch.
        passes: through all points.
        repetitions: with minibatches of their own.
    """

    batch: int
    passes: int
    repetitions: int


def stochastic(scene: Scene, schedules: Sequence[Schedule], budget: Budget) -> Part:
    """Stochastic VI from the start that coordinate ascent does best from."""
    ascents = scene.ascents()
    number = best_of(ascents)
    points, start, fixed_point = scene.data.draw(), scene.start(number), ascents[number].loc[-1]
    by_ascent = distance(ascents[number].loc, fixed_point)
    steps = budget.passes * len(points) // budget.batch
    passes = np.arange(steps + 1) * budget.batch / len(points)
    kept = np.unique(np.round(np.geomspace(1, steps, 80)).astype(int))
    rows = _distances(tables.ASCENT, np.arange(1, len(by_ascent)), by_ascent[1:, None])
    near = float(np.argmax(by_ascent < NEAR))
    answers = [Answer(tables.PASSES, tables.ASCENT, near, tables.MANY_POINTS)]
    for place, schedule in enumerate(schedules):
        random = np.random.default_rng([scene.seed, number, place])
        sizes = budget.batch, steps, budget.repetitions
        path = stochastic_ascent(points, start, scene.prior_variance, schedule, *sizes, random)
        distances = distance(path, fixed_point)
        rows += _distances(schedule.name, passes[kept], distances[kept])
        answers += _stochastic_answers(schedule.name, passes, distances)
    return Part(answers, {tables.STOCHASTIC: rows})


def _distances(schedule: str, passes: np.ndarray, distances: np.ndarray) -> list[Row]:
    """A row per pass `[T]` and repetition of `distances`, `[T, R]`."""
    return [
        {"schedule": schedule, "repetition": r, "passes": float(done), "distance": value}
        for done, own in zip(passes, distances.tolist(), strict=True)
        for r, value in enumerate(own)
    ]


def distance(loc: np.ndarray, fixed_point: np.ndarray) -> np.ndarray:
    """Root mean square over components of `loc - fixed_point`, `[..., K]` to `[...]`."""
    return np.sqrt(((loc - fixed_point) ** 2).mean(-1))


def _stochastic_answers(name: str, passes: np.ndarray, distances: np.ndarray) -> list[Answer]:
    """Mean and standard error over repetitions of `distances`, `[T + 1, R]`."""

    def summary(quantity: str, values: np.ndarray) -> Answer:
        error = float(values.std(ddof=1) / np.sqrt(len(values)))
        mean = float(values.mean())
        return Answer(quantity, tables.STOCHASTIC_VI, mean, name, standard_error=error)

    tenth = max(1, len(distances) // 10)
    answers = [
        summary(tables.EARLY_DISTANCE, distances[tenth : 2 * tenth].mean(0)),
        summary(tables.DISTANCE, distances[-tenth:].mean(0)),
    ]
    if (distances < NEAR).any(0).all():
        answers.append(summary(tables.PASSES, passes[np.argmax(distances < NEAR, axis=0)]))
    return answers
