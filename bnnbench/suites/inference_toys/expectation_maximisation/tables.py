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
from bnnbench.suites.inference_toys.expectation_maximisation.model import Parameters
from bnnbench.suites.inference_toys.expectation_maximisation.references import (
    fit_scikit_learn,
    local_maximum,
)
from bnnbench.suites.inference_toys.mixtures import Ascent, best_start, fraction_at, trace_table

KIND = "expectation_maximisation"

POINTS, STARTS, TRACE = "points", "starts", "trace"
"""The data; a row per start; a row per start and iteration."""

BOUNDS, PROFILE = "touching_bounds", "collapse_profile"
"""Log-likelihood and bounds as functions of one mean; log-likelihood as a function of the variance
of a component on one point."""

SETTINGS = {
    "synthetic": "synthetic data",
    "petal_lengths": "petal lengths",
    "collapsing_start": "start on one point",
}
"""Settings of answers by part, which is a unit; tables list shorter names of parts first."""

FITTED = ("synthetic", "petal_lengths")
"""Parts with random starts."""

EM, SKLEARN = "EM", "scikit-learn, same start and iterations"
LOG_LIKELIHOOD = "log-likelihood [nats]"
COLLAPSED_FRACTION = "fraction of starts that collapsed"
GRADIENT_DIFFERENCE = "largest relative difference of the gradient from finite differences"
SPIKE_LOG_LIKELIHOOD = "log-likelihood with a component on one point [nats]"

ESTIMATES = {
    "weight of the lower component": ("weight", 0),
    "mean of the lower component": ("loc", 0),
    "mean of the upper component": ("loc", 1),
    "variance of the lower component": ("variance", 0),
    "variance of the upper component": ("variance", 1),
}
"""Field and component of `Parameters` by quantity."""

MIN_SPIKE_VARIANCE = 1e-100
"""Smallest variance of a component on one point, relative to the variance of the data."""

Fit = Ascent[Parameters]

read_run = table_reader(
    {
        POINTS: ("point",),
        STARTS: ("start", "log_likelihood"),
        TRACE: ("start", "iteration", "log_likelihood", "bound"),
        BOUNDS: ("iteration", "current_mean", "mean", "log_likelihood", "bound"),
        PROFILE: ("variance", "log_likelihood"),
    }
)


def random_start_tables(part: str, points: np.ndarray, fits: Sequence[Fit]) -> Tables:
    """Tabulate EM from random starts, and compare the best with scikit-learn and BFGS."""
    best = fits[best_start(fits)]
    answers = [*_compare(points, best), *_summarise(points, fits, best)]
    tables = {POINTS: pd.DataFrame({"part": part, "point": points})}
    if part == "synthetic":
        bounds = tables[BOUNDS] = touching_bounds(points, best.states[-1].sorted_by_mean())
        excess = max((bounds["bound"] - bounds["log_likelihood"]).max(), 0.0)
        difference = max(_gradient_difference(points, theta) for theta in best.states[:3])
        answers += [
            Answer("largest excess of a bound over the log-likelihood [nats]", EM, excess),
            Answer(GRADIENT_DIFFERENCE, "Fisher's identity", difference),
        ]
    answers = [replace(answer, setting=SETTINGS[part]) for answer in answers]
    return {ANSWERS: answers, **tables, **_fit_tables(part, points, fits)}


def _compare(points: np.ndarray, best: Fit) -> Iterator[Answer]:
    """Compare the best fit with the maximum by BFGS and with scikit-learn."""
    end, iterations = best.states[-1], len(best.states) - 1
    theirs = fit_scikit_learn(points, best.states[0], iterations) if iterations else end
    ours, exact = end.sorted_by_mean(), local_maximum(points, end).sorted_by_mean()
    maximum = model.log_likelihood(points, exact)
    yield Answer(LOG_LIKELIHOOD, EM, best.objective[-1], exact=maximum)
    for name, (field, k) in ESTIMATES.items():
        yield Answer(name, EM, getattr(ours, field)[k], exact=getattr(exact, field)[k])
    yield Answer(LOG_LIKELIHOOD, SKLEARN, model.log_likelihood(points, theirs), exact=maximum)
    difference = np.abs(theirs.flatten() / end.flatten() - 1).max()
    yield Answer("largest relative difference of a parameter", SKLEARN, difference)


def _summarise(points: np.ndarray, fits: Sequence[Fit], best: Fit) -> Iterator[Answer]:
    """Summarise all starts."""
    gaps = [np.abs(fit.objective - _tight_bounds(points, fit)).max() for fit in fits]
    for quantity, value in {
        "fraction of starts at the best log-likelihood": fraction_at(fits, best.objective[-1]),
        COLLAPSED_FRACTION: float(np.mean([fit.status == "collapsed" for fit in fits])),
        "largest decrease of the log-likelihood in an iteration [nats]": max(
            fit.largest_decrease for fit in fits
        ),
        "largest gap between log-likelihood and bound after an E-step [nats]": max(gaps),
    }.items():
        yield Answer(quantity, EM, value)


def _tight_bounds(points: np.ndarray, fit: Fit) -> np.ndarray:
    """Return the bound after the E-step at each iterate, `[T + 1]`, nats."""
    q = [model.posterior(points, theta) for theta in fit.states]
    return np.array([model.bound(points, *pair) for pair in zip(q, fit.states, strict=True)])


def _gradient_difference(points: np.ndarray, theta: Parameters) -> float:
    """Return the relative difference of `model.gradient` from central differences."""
    step, formula = 1e-4, model.gradient(points, theta)
    lower, upper = (
        np.array([model.log_likelihood(points, replace(theta, loc=theta.loc + d)) for d in moves])
        for moves in (-step * np.eye(2), step * np.eye(2))
    )
    return float(np.abs((upper - lower) / (2 * step) - formula).max() / np.abs(formula).max())


def touching_bounds(points: np.ndarray, end: Parameters, iterations: int = 3) -> pd.DataFrame:
    """Run EM on the lower component's mean alone, and tabulate the bound of each E-step.

    The mean starts at that of the upper component, and all other parameters keep their fitted
    values. The log-likelihood is then a function of one number, below which every bound can be
    drawn as in the lecture.
    """

    def at(mean: float) -> Parameters:
        return replace(end, loc=np.array([mean, end.loc[1]]))

    low, high = end.loc
    grid = np.linspace(low - 0.6 * (high - low), high + 0.1 * (high - low), 201)
    mean, tables = float(high), []
    for iteration in range(iterations):
        q = model.posterior(points, at(mean))
        columns = {
            "iteration": iteration,
            "current_mean": mean,
            "current_log_likelihood": model.log_likelihood(points, at(mean)),
            "mean": grid,
            "log_likelihood": [model.log_likelihood(points, at(value)) for value in grid],
            "bound": [model.bound(points, q, at(value)) for value in grid],
        }
        tables.append(pd.DataFrame(columns))
        mean = float(q[:, 0] @ points / q[:, 0].sum())
    return pd.concat(tables)


def _fit_tables(part: str, points: np.ndarray, fits: Sequence[Fit]) -> dict[str, pd.DataFrame]:
    """Return a row per start, and a row per start and iteration."""
    starts = [
        {"part": part, "start": start, "status": fit.status, "message": fit.message}
        | {"log_likelihood": fit.objective[-1]}
        for start, fit in enumerate(fits)
    ]
    columns = [
        {"log_likelihood": fit.objective, "bound": _tight_bounds(points, fit)}
        | {
            f"{name}_{k + 1}": np.array([getattr(theta, name)[k] for theta in fit.states])
            for k in range(2)
            for name in ("weight", "loc", "variance")
        }
        for fit in fits
    ]
    return {STARTS: pd.DataFrame(starts), TRACE: trace_table(part, columns)}


def collapse_tables(points: np.ndarray, fit: Fit) -> Tables:
    """Tabulate a fit that collapses, and the likelihood that is unbounded there."""
    part, variances = "collapsing_start", np.geomspace(1.0, MIN_SPIKE_VARIANCE, 201) * points.var()
    weight = np.array([1.0, len(points) - 1.0]) / len(points)
    spikes = [
        Parameters(weight, fit.states[0].loc, np.array([variance, points.var()]))
        for variance in variances
    ]
    logs = [model.log_likelihood(points, spike) for spike in spikes]
    setting, smallest = SETTINGS[part], fit.states[-1].variance.min()
    answers = [
        Answer(COLLAPSED_FRACTION, EM, float(fit.status == "collapsed"), setting),
        Answer("smallest variance", EM, smallest, setting),
        Answer(SPIKE_LOG_LIKELIHOOD, f"variance {variances[-1]:.0e}", logs[-1], setting),
    ]
    profile = pd.DataFrame({"variance": variances, "log_likelihood": logs})
    return {ANSWERS: answers, **_fit_tables(part, points, [fit]), PROFILE: profile}
