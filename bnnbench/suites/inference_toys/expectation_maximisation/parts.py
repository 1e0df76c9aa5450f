"""The parts of a run of EM and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.expectation_maximisation import names
from bnnbench.suites.inference_toys.expectation_maximisation.algorithm import (
    COLLAPSED,
    Fit,
    fit,
    random_start,
)
from bnnbench.suites.inference_toys.expectation_maximisation.data import collapsing_start
from bnnbench.suites.inference_toys.expectation_maximisation.model import (
    Parameters,
    bound,
    gradient,
    log_likelihood,
    posterior,
)
from bnnbench.suites.inference_toys.expectation_maximisation.references import (
    fit_scikit_learn,
    local_maximum,
)

SAME_OPTIMUM_TOLERANCE = 1e-6
"""Nats within which two starts reach the same optimum."""

N_BOUNDS = 3
"""Number of iterations whose bounds are tabulated."""

MIN_SPIKE_VARIANCE = 1e-100
"""Smallest variance of a component on one point, relative to the variance of the data."""

Row = dict[str, Any]


@dataclass(frozen=True)
class PartResults:
    """The results of one part.

    Attributes:
        answers: rows of `answers.csv`.
        tables: rows of the other tables, by name.
    """

    answers: Sequence[Answer]
    tables: Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class StoppingRule:
    """The stopping rule of EM.

    Attributes:
        iterations: maximum number of iterations.
        tolerance: relative change of the log-likelihood below which EM has converged.
        min_variance: variance, relative to the data's, below which a component has collapsed.
    """

    iterations: int
    tolerance: float
    min_variance: float

    def fit(self, points: np.ndarray, start: Parameters) -> Fit:
        """Run EM from one start."""
        return fit(points, start, self.iterations, self.tolerance, self.min_variance)


def random_starts(
    part: str, points: np.ndarray, starts: int, seed: int, stopping_rule: StoppingRule
) -> PartResults:
    """Run EM from random starts, and compare the best with scikit-learn and BFGS."""
    fits = [
        stopping_rule.fit(points, random_start(points, np.random.default_rng([seed, n])))
        for n in range(starts)
    ]
    best = max(fits, key=lambda fit: (fit.is_usable, fit.log_likelihood[-1]))
    answers = [
        *_reference_answers(part, points, best),
        *_start_answers(part, fits, float(best.log_likelihood[-1])),
    ]
    tables = {
        names.POINTS: [{"part": part, "point": float(point)} for point in points],
        **_fit_tables(part, fits),
    }
    if part == names.SYNTHETIC:
        rows = touching_bounds(points, best.parameters[-1].sorted_by_mean())
        tables[names.BOUNDS] = rows
        answers += _bound_answers(points, best, rows)
    return PartResults(answers, tables)


def _reference_answers(part: str, points: np.ndarray, best: Fit) -> list[Answer]:
    """Compare the best fit with the maximum by BFGS and with scikit-learn."""
    setting, end = names.SETTINGS[part], best.parameters[-1]
    iterations = len(best.parameters) - 1
    theirs = fit_scikit_learn(points, best.parameters[0], iterations) if iterations else end
    difference = np.abs(theirs.flatten() / end.flatten() - 1).max()
    ours, exact = end.sorted_by_mean(), local_maximum(points, end).sorted_by_mean()
    maximum = log_likelihood(points, exact)
    rows = [
        (names.LOG_LIKELIHOOD, best.log_likelihood[-1], maximum),
        (names.WEIGHT, ours.weight[0], exact.weight[0]),
        *((names.LOC[k], ours.loc[k], exact.loc[k]) for k in range(2)),
        *((names.VARIANCE[k], ours.variance[k], exact.variance[k]) for k in range(2)),
    ]
    answers = [
        Answer(name, names.EM, float(value), setting, exact=float(true))
        for name, value, true in rows
    ]
    value = log_likelihood(points, theirs)
    answers.append(Answer(names.LOG_LIKELIHOOD, names.SKLEARN, value, setting, exact=maximum))
    answers.append(Answer(names.PARAMETER_DIFFERENCE, names.SKLEARN, float(difference), setting))
    return answers


def _start_answers(part: str, fits: Sequence[Fit], best: float) -> list[Answer]:
    """Summarise all starts."""
    ends = np.array([fit.log_likelihood[-1] for fit in fits])
    gaps = [np.abs(fit.log_likelihood - fit.bound).max() for fit in fits]
    values = {
        names.BEST_FRACTION: (np.abs(ends - best) < SAME_OPTIMUM_TOLERANCE).mean(),
        names.COLLAPSED_FRACTION: np.mean([fit.ending.status == COLLAPSED for fit in fits]),
        names.LARGEST_DECREASE: max(fit.largest_decrease for fit in fits),
        names.BOUND_GAP: max(gaps),
    }
    setting = names.SETTINGS[part]
    return [Answer(name, names.EM, float(value), setting) for name, value in values.items()]


def _bound_answers(points: np.ndarray, best: Fit, rows: Sequence[Row]) -> list[Answer]:
    """Measure the violation of the bounds and the error of the gradient formula."""
    setting = names.SETTINGS[names.SYNTHETIC]
    excess = max(row["bound"] - row["log_likelihood"] for row in rows)
    difference = max(_gradient_difference(points, theta) for theta in best.parameters[:3])
    return [
        Answer(names.BOUND_EXCESS, names.EM, float(max(excess, 0.0)), setting),
        Answer(names.GRADIENT_DIFFERENCE, names.FISHER, float(difference), setting),
    ]


def _gradient_difference(points: np.ndarray, parameters: Parameters) -> float:
    """Return the relative difference of `gradient` from central differences."""
    step, formula = 1e-4, gradient(points, parameters)
    numeric = []
    for k in range(2):
        lower, upper = (
            log_likelihood(points, replace(parameters, loc=parameters.loc + s * np.eye(2)[k]))
            for s in (-step, step)
        )
        numeric.append((upper - lower) / (2 * step))
    return float(np.abs(numeric - formula).max() / np.abs(formula).max())


def touching_bounds(points: np.ndarray, end: Parameters) -> list[Row]:
    """Run EM on the lower component's mean alone, and tabulate the bound of each E-step.

    The mean starts at that of the upper component, and all other parameters keep their fitted
    values. The log-likelihood is then a function of one number, below which every bound can be
    drawn as in the lecture.
    """

    def at(mean: float) -> Parameters:
        return replace(end, loc=np.array([mean, end.loc[1]]))

    low, high = end.loc
    grid = np.linspace(low - 0.6 * (high - low), high + 0.1 * (high - low), 201)
    mean, rows = float(high), []
    for iteration in range(N_BOUNDS):
        q = posterior(points, at(mean))
        current = log_likelihood(points, at(mean))
        rows += [
            {
                "iteration": iteration,
                "current_mean": mean,
                "current_log_likelihood": current,
                "mean": float(value),
                "log_likelihood": log_likelihood(points, at(value)),
                "bound": bound(points, q, at(value)),
            }
            for value in grid
        ]
        mean = float(q[:, 0] @ points / q[:, 0].sum())
    return rows


def _fit_tables(part: str, fits: Sequence[Fit]) -> dict[str, list[Row]]:
    """Return a row per start, and a row per start and iteration."""
    starts, trace = [], []
    for number, one_fit in enumerate(fits):
        keys = {"part": part, "start": number}
        for iteration, parameters in enumerate(one_fit.parameters):
            values = {
                "log_likelihood": float(one_fit.log_likelihood[iteration]),
                "bound": float(one_fit.bound[iteration]),
            }
            trace.append({**keys, "iteration": iteration, **values, **_columns(parameters)})
        ending = {"status": one_fit.ending.status, "message": one_fit.ending.message}
        starts.append({**keys, **ending, "log_likelihood": float(one_fit.log_likelihood[-1])})
    return {names.STARTS: starts, names.TRACE: trace}


def _columns(parameters: Parameters) -> Row:
    columns = ("weight", "loc", "variance")
    return {
        f"{name}_{k + 1}": float(getattr(parameters, name)[k]) for k in range(2) for name in columns
    }


def collapse(points: np.ndarray, stopping_rule: StoppingRule) -> PartResults:
    """Run EM from a start that collapses, and tabulate the likelihood that is unbounded there."""
    start = collapsing_start(points)
    fit = stopping_rule.fit(points, start)
    setting = names.SETTINGS[names.COLLAPSING_START]
    variances = np.geomspace(1.0, MIN_SPIKE_VARIANCE, 201) * points.var()
    weight = np.array([1.0, len(points) - 1.0]) / len(points)
    profile = [
        {
            "variance": float(variance),
            "log_likelihood": log_likelihood(
                points, Parameters(weight, start.loc, np.array([variance, points.var()]))
            ),
        }
        for variance in variances
    ]
    answers = [
        Answer(names.COLLAPSED_FRACTION, names.EM, float(fit.ending.status == COLLAPSED), setting),
        Answer(names.MIN_VARIANCE, names.EM, float(fit.parameters[-1].variance.min()), setting),
        Answer(
            names.SPIKE_LOG_LIKELIHOOD,
            f"variance {variances[-1]:.0e}",
            profile[-1]["log_likelihood"],
            setting,
        ),
    ]
    tables = {**_fit_tables(names.COLLAPSING_START, [fit]), names.PROFILE: profile}
    return PartResults(answers, tables)
