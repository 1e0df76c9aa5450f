"""The parts of a run of EM: what each computes, as tables and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.expectation_maximisation import tables
from bnnbench.suites.inference_toys.expectation_maximisation.algorithm import (
    COLLAPSED,
    Fit,
    fit,
    random_start,
)
from bnnbench.suites.inference_toys.expectation_maximisation.data import start_on_one_point
from bnnbench.suites.inference_toys.expectation_maximisation.model import (
    Parameters,
    bound,
    log_likelihood,
    posterior,
    slope,
)
from bnnbench.suites.inference_toys.expectation_maximisation.references import (
    by_scikit_learn,
    nearest_maximum,
)

SAME = 1e-6
"""Nats within which two starts have reached the same optimum."""

TOUCHING = 3
"""Iterations whose bounds are drawn."""

NARROWEST = 1e-100
"""Variance, in units of the data's, down to which a component on one point is followed."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """What one part leaves.

    Attributes:
        answers: the numbers that a reader would quote.
        tables: rows by table.
    """

    answers: Sequence[Answer]
    tables: Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Limits:
    """When EM stops.

    Attributes:
        iterations: at the most.
        tolerance: relative rise of the log-likelihood at which it has converged.
        least_variance: of a component, relative to the data's.
    """

    iterations: int
    tolerance: float
    least_variance: float

    def fit(self, points: np.ndarray, start: Parameters) -> Fit:
        """EM from one start."""
        return fit(points, start, self.iterations, self.tolerance, self.least_variance)


def random_starts(part: str, points: np.ndarray, starts: int, seed: int, limits: Limits) -> Part:
    """EM from random starts, beside scikit-learn from the best of them and a direct search."""
    drawn = [random_start(points, np.random.default_rng([seed, n])) for n in range(starts)]
    fits = [limits.fit(points, start) for start in drawn]
    best = max(fits, key=lambda one: (one.sound, one.log_likelihood[-1]))
    answers = [
        *_beside_references(part, points, best),
        *_over_starts(part, fits, float(best.log_likelihood[-1])),
    ]
    found = {
        tables.POINTS: [{"part": part, "point": float(point)} for point in points],
        **_paths(part, fits),
    }
    if part == tables.MADE:
        rows = touching_bounds(points, best.parameters[-1].in_order())
        found[tables.TOUCH] = rows
        answers += _of_bounds(points, best, rows)
    return Part(answers, found)


def _beside_references(part: str, points: np.ndarray, best: Fit) -> list[Answer]:
    """Where the best start ended, beside the maximum and scikit-learn."""
    setting, end = tables.SETTINGS[part], best.parameters[-1]
    iterations = len(best.parameters) - 1
    theirs = by_scikit_learn(points, best.parameters[0], iterations) if iterations else end
    apart = np.abs(theirs.flat() / end.flat() - 1).max()
    ours, exact = end.in_order(), nearest_maximum(points, end).in_order()
    top = log_likelihood(points, exact)
    rows = [
        (tables.LIKELIHOOD, best.log_likelihood[-1], top),
        (tables.WEIGHT, ours.weight[0], exact.weight[0]),
        *((tables.LOC[k], ours.loc[k], exact.loc[k]) for k in range(2)),
        *((tables.VARIANCE[k], ours.variance[k], exact.variance[k]) for k in range(2)),
    ]
    answers = [
        Answer(name, tables.EM, float(value), setting, exact=float(true))
        for name, value, true in rows
    ]
    reached = log_likelihood(points, theirs)
    answers.append(Answer(tables.LIKELIHOOD, tables.SKLEARN, reached, setting, exact=top))
    answers.append(Answer(tables.APART, tables.SKLEARN, float(apart), setting))
    return answers


def _over_starts(part: str, fits: Sequence[Fit], best: float) -> list[Answer]:
    """What is said of all starts together."""
    ends = np.array([one.log_likelihood[-1] for one in fits])
    apart = [np.abs(one.log_likelihood - one.bound).max() for one in fits]
    found = {
        tables.BEST_SHARE: (np.abs(ends - best) < SAME).mean(),
        tables.COLLAPSED_SHARE: np.mean([one.ending.status == COLLAPSED for one in fits]),
        tables.FALL: max(one.largest_fall for one in fits),
        tables.TOUCHING: max(apart),
    }
    setting = tables.SETTINGS[part]
    return [Answer(name, tables.EM, float(value), setting) for name, value in found.items()]


def _of_bounds(points: np.ndarray, best: Fit, rows: Sequence[Row]) -> list[Answer]:
    """Whether bounds lie below the likelihood, and whether its slope is the formula's."""
    setting = tables.SETTINGS[tables.MADE]
    above = max(row["bound"] - row["log_likelihood"] for row in rows)
    apart = max(_slope_error(points, parameters) for parameters in best.parameters[:3])
    return [
        Answer(tables.ABOVE, tables.EM, float(max(above, 0.0)), setting),
        Answer(tables.SLOPE, tables.FISHER, float(apart), setting),
    ]


def _slope_error(points: np.ndarray, parameters: Parameters) -> float:
    """Distance of `slope` from central differences, relative to the slope."""
    step, formula = 1e-4, slope(points, parameters)
    numeric = []
    for k in range(2):
        moved = [replace(parameters, loc=parameters.loc + s * np.eye(2)[k]) for s in (-step, step)]
        below, above = (log_likelihood(points, one) for one in moved)
        numeric.append((above - below) / (2 * step))
    return float(np.abs(numeric - formula).max() / np.abs(formula).max())


def touching_bounds(points: np.ndarray, end: Parameters) -> list[Row]:
    """EM for the lower component's mean alone, started at the upper's: each E-step's bound.

    All else stays where the fit ended, so that there is one log-likelihood, a function of one
    number, and every bound can be drawn below it, as the lecture does.
    """

    def at(mean: float) -> Parameters:
        return replace(end, loc=np.array([mean, end.loc[1]]))

    low, high = end.loc
    grid = np.linspace(low - 0.6 * (high - low), high + 0.1 * (high - low), 201)
    mean, rows = float(high), []
    for iteration in range(TOUCHING):
        q = posterior(points, at(mean))
        touched = log_likelihood(points, at(mean))
        rows += [
            {
                "iteration": iteration,
                "touches_at": mean,
                "touched": touched,
                "mean": float(value),
                "log_likelihood": log_likelihood(points, at(value)),
                "bound": bound(points, q, at(value)),
            }
            for value in grid
        ]
        mean = float(q[:, 0] @ points / q[:, 0].sum())
    return rows


def _paths(part: str, fits: Sequence[Fit]) -> dict[str, list[Row]]:
    """A row per start, and one per start and iteration."""
    starts, trace = [], []
    for number, one in enumerate(fits):
        names = {"part": part, "start": number}
        for iteration, parameters in enumerate(one.parameters):
            measured = {
                "log_likelihood": float(one.log_likelihood[iteration]),
                "bound": float(one.bound[iteration]),
            }
            row = {**names, "iteration": iteration, **measured, **_cells(parameters)}
            trace.append(row)
        ended = {"status": one.ending.status, "said": one.ending.said}
        starts.append({**names, **ended, "log_likelihood": float(one.log_likelihood[-1])})
    return {tables.STARTS: starts, tables.TRACE: trace}


def _cells(parameters: Parameters) -> Row:
    columns = ("weight", "loc", "variance")
    return {
        f"{name}_{k + 1}": float(getattr(parameters, name)[k]) for k in range(2) for name in columns
    }


def collapse(points: np.ndarray, limits: Limits) -> Part:
    """EM from a start on one point, and the likelihood that has no maximum there."""
    start = start_on_one_point(points)
    one = limits.fit(points, start)
    setting = tables.SETTINGS[tables.COLLAPSE]
    widths = np.geomspace(1.0, NARROWEST, 201) * points.var()
    weight = np.array([1.0, len(points) - 1.0]) / len(points)
    profile = [
        {
            "variance": float(width),
            "log_likelihood": log_likelihood(
                points, Parameters(weight, start.loc, np.array([width, points.var()]))
            ),
        }
        for width in widths
    ]
    answers = [
        Answer(tables.COLLAPSED_SHARE, tables.EM, float(one.ending.status == COLLAPSED), setting),
        Answer(tables.SMALLEST, tables.EM, float(one.parameters[-1].variance.min()), setting),
        Answer(tables.SPIKE, f"variance {widths[-1]:.0e}", profile[-1]["log_likelihood"], setting),
    ]
    return Part(answers, {**_paths(tables.COLLAPSE, [one]), tables.PROFILE: profile})
