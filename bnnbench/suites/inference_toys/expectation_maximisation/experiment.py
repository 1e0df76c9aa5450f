"""Expectation maximisation for two univariate Gaussians.

Alvarez, "Approximate inference for neural networks", Universidad Tecnologica de Pereira: the
mixture, its bound by Jensen's inequality, the E-step that makes the bound tight and the M-step that
maximises it. The lecture's single observation, `y = 4.3`, is the upper cluster centre here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.suites.inference_toys.expectation_maximisation import model
from bnnbench.suites.inference_toys.mixtures import Ascent, best_start, fraction_at, trace_table

STARTS, TRACE = "starts", "trace"
"""A row per start; a row per start and iteration."""

BOUNDS = "touching_bounds"
"""Log-likelihood and its bounds as functions of one mean."""

FITTED = {"synthetic": "synthetic data", "petal_lengths": "petal lengths"}
"""Settings of answers by part with random starts."""

SETTINGS = {**FITTED, "collapsing_start": "start on one point"}
"""Settings of answers by part, which is a unit; tables list shorter names of parts first."""

EM = "EM"
LOG_LIKELIHOOD = "log-likelihood [nats]"

ESTIMATES = {
    "weight of the lower component": (0, 0),
    "mean of the lower component": (1, 0),
    "mean of the upper component": (1, 1),
    "variance of the lower component": (2, 0),
    "variance of the upper component": (2, 1),
}
"""Row and column of theta by quantity."""

Fit = Ascent[np.ndarray]


@dataclass(frozen=True, kw_only=True)
class ExpectationMaximisation(TableExperiment):
    """Runs EM from random starts on two data sets, and from a start that collapses.

    See `configs/experiment` for the settings; `seed` is that of the starts.
    """

    identity_name = (
        "bnnbench.suites.inference_toys.expectation_maximisation.experiment.ExpectationMaximisation"
    )
    weight: Annotated[float, Between(0, 1)]
    loc: Annotated[tuple[float, ...], ListOf(Between(-1e4, 1e4), length=2)]
    scale: Annotated[tuple[float, ...], ListOf(Between(0, 1e4), length=2)]
    points: Annotated[int, Whole(5)]
    data_seed: Annotated[int, Whole(0)]
    starts: Annotated[int, Whole()]
    iterations: Annotated[int, Whole()]
    tolerance: Annotated[float, Between(0, 1)]
    min_variance: Annotated[float, Between(0, 1)]
    seed: Annotated[int, Whole(0)]
    kind: ClassVar[str] = "expectation_maximisation"
    name: ClassVar[str] = "expectation maximisation"
    columns: ClassVar[tuple[str, ...]] = ("points", "starts", "seed")

    def cases(self) -> dict[str, str]:
        return {part: part for part in SETTINGS}

    def tables(self, case: str) -> Tables:
        points = petal_lengths() if case == "petal_lengths" else self.synthetic_data()
        if case == "collapsing_start":
            fits = [self.run_em(points, model.collapsing_start(points))]
            return {ANSWERS: [collapsed_fraction(case, fits)], **fit_tables(case, fits)}
        randoms = [np.random.default_rng([self.seed, n]) for n in range(self.starts)]
        fits = [self.run_em(points, model.random_start(points, random)) for random in randoms]
        tables = fit_tables(case, fits)
        if case == "synthetic":
            end = fits[best_start(fits)].states[-1]
            tables[BOUNDS] = touching_bounds(points, model.sorted_by_mean(end))
        return {ANSWERS: summarise(case, points, fits), **tables}

    def run_em(self, points: np.ndarray, start: np.ndarray) -> Fit:
        """Run EM on points `[N]` from one start."""
        return model.run_em(points, start, self.iterations, self.tolerance, self.min_variance)

    def synthetic_data(self) -> np.ndarray:
        """Draw points from the mixture, `[N]`."""
        random = np.random.default_rng(self.data_seed)
        first = random.random(self.points) < self.weight
        loc, scale = np.where(first, *self.loc), np.where(first, *self.scale)
        return loc + scale * random.normal(size=self.points)


def petal_lengths() -> np.ndarray:
    """Return the petal lengths of 150 irises in cm, a multimodal sample (Fisher, 1936)."""
    from sklearn.datasets import load_iris

    return np.array(load_iris().data[:, 2])


def summarise(part: str, points: np.ndarray, fits: Sequence[Fit]) -> Iterator[Answer]:
    """Compare the best of several starts with the nearby maximum, and summarise all starts."""
    best, setting = fits[best_start(fits)], SETTINGS[part]
    end = model.sorted_by_mean(best.states[-1])
    exact = model.sorted_by_mean(model.local_maximum(points, best.states[-1]))
    maximum = model.log_likelihood(points, exact)
    yield Answer(LOG_LIKELIHOOD, EM, best.objective[-1], setting, exact=maximum)
    for quantity, index in ESTIMATES.items():
        yield Answer(quantity, EM, end[index], setting, exact=exact[index])
    fraction = fraction_at(fits, best.objective[-1])
    decrease = max(fit.largest_decrease for fit in fits)
    yield Answer("fraction of starts at the best log-likelihood", EM, fraction, setting)
    yield collapsed_fraction(part, fits)
    quantity = "largest decrease of the log-likelihood in an iteration [nats]"
    yield Answer(quantity, EM, decrease, setting)


def collapsed_fraction(part: str, fits: Sequence[Fit]) -> Answer:
    collapsed = float(np.mean([fit.status == "collapsed" for fit in fits]))
    return Answer("fraction of starts that collapsed", EM, collapsed, SETTINGS[part])


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


def fit_tables(part: str, fits: Sequence[Fit]) -> dict[str, pd.DataFrame]:
    """Return a row per start, and a row per start and iteration."""
    starts = {
        "start": range(len(fits)),
        "status": [fit.status for fit in fits],
        "message": [fit.message for fit in fits],
        "log_likelihood": [fit.objective[-1] for fit in fits],
    }
    trace = trace_table(part, [{"log_likelihood": fit.objective} for fit in fits])
    return {STARTS: pd.DataFrame({"part": part, **starts}), TRACE: trace}
