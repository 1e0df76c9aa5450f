"""Tables of a run of EM: random starts on two data sets, and a start that collapses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bnnbench.experiment.table_experiment import Tables
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.results.saved_tables import table_reader
from bnnbench.suites.inference_toys.expectation_maximisation import model
from bnnbench.suites.inference_toys.mixtures import Ascent, best_start, fraction_at, trace_table

KIND = "expectation_maximisation"

STARTS, TRACE = "starts", "trace"
"""A row per start; a row per start and iteration."""

BOUNDS, PROFILE = "touching_bounds", "collapse_profile"
"""Log-likelihood and bounds as functions of one mean; log-likelihood as a function of the variance
of a component on one point."""

FITTED = {"synthetic": "synthetic data", "petal_lengths": "petal lengths"}
"""Settings of answers by part with random starts."""

SETTINGS = {**FITTED, "collapsing_start": "start on one point"}
"""Settings of answers by part, which is a unit; tables list shorter names of parts first."""

EM, SKLEARN = "EM", "scikit-learn, same start and iterations"
LOG_LIKELIHOOD = "log-likelihood [nats]"
COLLAPSED_FRACTION = "fraction of starts that collapsed"
GRADIENT_DIFFERENCE = "largest relative difference of the gradient from finite differences"
SPIKE_LOG_LIKELIHOOD = "log-likelihood with a component on one point [nats]"

ESTIMATES = {
    "weight of the lower component": (0, 0),
    "mean of the lower component": (1, 0),
    "mean of the upper component": (1, 1),
    "variance of the lower component": (2, 0),
    "variance of the upper component": (2, 1),
}
"""Row and column of theta by quantity."""

MIN_SPIKE_VARIANCE = 1e-100
"""Smallest variance of a component on one point, relative to the variance of the data."""

Fit = Ascent[np.ndarray]

read_run = table_reader(
    {
        STARTS: ("start", "log_likelihood"),
        TRACE: ("start", "iteration", "log_likelihood"),
        BOUNDS: ("iteration", "current_mean", "mean", "log_likelihood", "bound"),
        PROFILE: ("variance", "log_likelihood"),
    }
)


def random_start_tables(part: str, points: np.ndarray, fits: Sequence[Fit]) -> Tables:
    """Tabulate EM from random starts, and compare the best with scikit-learn and BFGS."""
    best = fits[best_start(fits)]
    answers = [*_compare(points, best), *_summarise(points, fits, best)]
    tables = _fit_tables(part, fits)
    if part == "synthetic":
        bounds = tables[BOUNDS] = touching_bounds(points, model.sorted_by_mean(best.states[-1]))
        excess = max((bounds["bound"] - bounds["log_likelihood"]).max(), 0.0)
        difference = max(_gradient_difference(points, theta) for theta in best.states[:3])
        answers += [
            Answer("largest excess of a bound over the log-likelihood [nats]", EM, excess),
            Answer(GRADIENT_DIFFERENCE, "Fisher's identity", difference),
        ]
    answers = [replace(answer, setting=SETTINGS[part]) for answer in answers]
    return {ANSWERS: answers, **tables}


def _compare(points: np.ndarray, best: Fit) -> Iterator[Answer]:
    """Compare the best fit with the maximum by BFGS and with scikit-learn."""
    start, end, iterations = best.states[0], best.states[-1], len(best.states) - 1
    theirs = model.fit_scikit_learn(points, start, iterations) if iterations else end
    exact = model.sorted_by_mean(model.local_maximum(points, end))
    maximum = model.log_likelihood(points, exact)
    yield Answer(LOG_LIKELIHOOD, EM, best.objective[-1], exact=maximum)
    for quantity, index in ESTIMATES.items():
        yield Answer(quantity, EM, model.sorted_by_mean(end)[index], exact=exact[index])
    yield Answer(LOG_LIKELIHOOD, SKLEARN, model.log_likelihood(points, theirs), exact=maximum)
    difference = np.abs(theirs / end - 1).max()
    yield Answer("largest relative difference of a parameter", SKLEARN, difference)


def _summarise(points: np.ndarray, fits: Sequence[Fit], best: Fit) -> Iterator[Answer]:
    """Summarise all starts."""
    decrease = max(fit.largest_decrease for fit in fits)
    gap = max(np.abs(fit.objective - _tight_bounds(points, fit)).max() for fit in fits)
    collapsed = float(np.mean([fit.status == "collapsed" for fit in fits]))
    fraction = fraction_at(fits, best.objective[-1])
    yield Answer("fraction of starts at the best log-likelihood", EM, fraction)
    yield Answer(COLLAPSED_FRACTION, EM, collapsed)
    yield Answer("largest decrease of the log-likelihood in an iteration [nats]", EM, decrease)
    yield Answer("largest gap between log-likelihood and bound after an E-step [nats]", EM, gap)


def _tight_bounds(points: np.ndarray, fit: Fit) -> np.ndarray:
    """Return the bound after the E-step at each iterate, `[T + 1]`, nats."""
    thetas = fit.states
    return np.array([model.bound(points, model.posterior(points, t), t) for t in thetas])


def _gradient_difference(points: np.ndarray, theta: np.ndarray) -> float:
    """Return the relative difference of `model.gradient` from central differences."""
    step, formula = 1e-4, model.gradient(points, theta)
    moves = step * np.array([[[0, 0], [1, 0], [0, 0]], [[0, 0], [0, 1], [0, 0]]])
    lower, upper = (
        np.array([model.log_likelihood(points, theta + sign * move) for move in moves])
        for sign in (-1, 1)
    )
    return float(np.abs((upper - lower) / (2 * step) - formula).max() / np.abs(formula).max())


def touching_bounds(points: np.ndarray, end: np.ndarray, iterations: int = 3) -> pd.DataFrame:
    """Run EM on the lower component's mean alone, and tabulate the bound of each E-step.

    The mean starts at that of the upper component, and all other parameters keep their fitted
    values. The log-likelihood is then a function of one number, below which every bound can be
    drawn as in the lecture.
    """
    weight, (low, high), variance = end
    grid = np.linspace(low - 0.6 * (high - low), high + 0.1 * (high - low), 201)
    thetas = [np.array([weight, [value, high], variance]) for value in grid]
    mean, tables = float(high), []
    for iteration in range(iterations):
        theta = np.array([weight, [mean, high], variance])
        q = model.posterior(points, theta)
        columns = {
            "iteration": iteration,
            "current_mean": mean,
            "current_log_likelihood": model.log_likelihood(points, theta),
            "mean": grid,
            "log_likelihood": [model.log_likelihood(points, theta) for theta in thetas],
            "bound": [model.bound(points, q, theta) for theta in thetas],
        }
        tables.append(pd.DataFrame(columns))
        mean = float(q[:, 0] @ points / q[:, 0].sum())
    return pd.concat(tables)


def _fit_tables(part: str, fits: Sequence[Fit]) -> dict[str, pd.DataFrame]:
    """Return a row per start, and a row per start and iteration."""
    starts = {
        "start": range(len(fits)),
        "status": [fit.status for fit in fits],
        "message": [fit.message for fit in fits],
        "log_likelihood": [fit.objective[-1] for fit in fits],
    }
    trace = trace_table(part, [{"log_likelihood": fit.objective} for fit in fits])
    return {STARTS: pd.DataFrame({"part": part, **starts}), TRACE: trace}


def collapse_tables(points: np.ndarray, fit: Fit) -> Tables:
    """Tabulate a fit that collapses, and the likelihood that is unbounded there."""
    part, variances = "collapsing_start", np.geomspace(1.0, MIN_SPIKE_VARIANCE, 201) * points.var()
    weight, loc = np.array([1.0, len(points) - 1.0]) / len(points), fit.states[0][1]
    spikes = [np.array([weight, loc, [variance, points.var()]]) for variance in variances]
    logs = [model.log_likelihood(points, spike) for spike in spikes]
    setting, smallest = SETTINGS[part], fit.states[-1][2].min()
    answers = [
        Answer(COLLAPSED_FRACTION, EM, float(fit.status == "collapsed"), setting),
        Answer("smallest variance", EM, smallest, setting),
        Answer(SPIKE_LOG_LIKELIHOOD, f"variance {variances[-1]:.0e}", logs[-1], setting),
    ]
    profile = pd.DataFrame({"variance": variances, "log_likelihood": logs})
    return {ANSWERS: answers, **_fit_tables(part, [fit]), PROFILE: profile}
