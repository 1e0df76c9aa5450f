"""Expectation maximisation for two univariate Gaussians.

`p(z = 1) = pi`, `y | z = 1 ~ N(mu_1, s_1^2)`, `y | z = 0 ~ N(mu_2, s_2^2)` (Alvarez, "Approximate
inference for neural networks", Universidad Tecnologica de Pereira): the mixture, its bound by
Jensen's inequality, the E-step that makes the bound tight and the M-step that maximises it. The
lecture's `z = 1` is the first component, and its single observation, `y = 4.3`, is the upper
cluster centre here. Its theta is a matrix `[3, 2]` with the rows weights, means and variances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import entr, expit, logit, logsumexp, softmax

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.suites.inference_toys.ascent import (
    Ascent,
    Degenerate,
    ascend,
    best_start,
    fraction_at,
    trace_table,
)
from bnnbench.suites.inference_toys.maths import LOG_TWO_PI

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
            fits = [self.run_em(points, collapsing_start(points))]
            return {ANSWERS: [collapsed_fraction(case, fits)], **fit_tables(case, fits)}
        randoms = [np.random.default_rng([self.seed, n]) for n in range(self.starts)]
        fits = [self.run_em(points, random_start(points, random)) for random in randoms]
        tables = fit_tables(case, fits)
        if case == "synthetic":
            end = fits[best_start(fits)].states[-1]
            tables[BOUNDS] = touching_bounds(points, sorted_by_mean(end))
        return {ANSWERS: summarise(case, points, fits), **tables}

    def run_em(self, points: np.ndarray, start: np.ndarray) -> Fit:
        """Run EM on points `[N]` from one start."""
        return run_em(points, start, self.iterations, self.tolerance, self.min_variance)

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
    end = sorted_by_mean(best.states[-1])
    exact = sorted_by_mean(local_maximum(points, best.states[-1]))
    maximum = log_likelihood(points, exact)
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
        q = posterior(points, theta)
        columns = {
            "iteration": iteration,
            "current_mean": mean,
            "current_log_likelihood": log_likelihood(points, theta),
            "mean": grid,
            "log_likelihood": [log_likelihood(points, theta) for theta in thetas],
            "bound": [bound(points, q, theta) for theta in thetas],
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
    trace = trace_table(part, "log_likelihood", fits)
    return {STARTS: pd.DataFrame({"part": part, **starts}), TRACE: trace}


MIN_COUNT = 1e-12
"""Smallest total responsibility with which a component can be updated."""

START_OFFSET = 0.3
"""Offset of the start from EM's result, in log-odds, standard deviations and log variances."""


def sorted_by_mean(theta: np.ndarray) -> np.ndarray:
    """Return the same mixture with the component of lower mean first."""
    return theta[:, np.argsort(theta[1], kind="stable")]


def log_joint(points: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return `ln p(y_n, z)` of points `[N]` for both values of z, `[N, 2]`, nats."""
    weight, loc, variance = theta
    squares = (points[:, None] - loc) ** 2 / variance
    joint: np.ndarray = np.log(weight) - 0.5 * (LOG_TWO_PI + np.log(variance) + squares)
    return joint


def log_likelihood(points: np.ndarray, theta: np.ndarray) -> float:
    """Return `ln p(y | theta)` of points `[N]`, nats."""
    return float(logsumexp(log_joint(points, theta), axis=1).sum())


def posterior(points: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return `q(z_n) = p(z_n | y_n, theta)` of the E-step, `[N, 2]`."""
    q: np.ndarray = softmax(log_joint(points, theta), axis=1)
    return q


def bound(points: np.ndarray, q: np.ndarray, theta: np.ndarray) -> float:
    """Return the lower bound `sum_n sum_z q(z_n) ln (p(y_n, z_n | theta) / q(z_n))`, nats.

    The lecture's remark on EM omits the sum over n in the entropy term, without which the bound is
    not tight after an E-step; its slides on Jensen's inequality include it. Its remark on
    variational EM prints `ln p(y) / p(z)` for `ln p(y)`.
    """
    return float((q * log_joint(points, theta)).sum() + entr(q).sum())


def m_step(points: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return theta that maximises the bound, given points `[N]` and responsibilities `[N, 2]`."""
    counts = q.sum(0)
    loc = points @ q / counts
    variance = (q * (points[:, None] - loc) ** 2).sum(0) / counts
    return np.array([counts / len(points), loc, variance])


def run_em(
    points: np.ndarray, start: np.ndarray, iterations: int, tolerance: float, min_variance: float
) -> Ascent[np.ndarray]:
    """Alternate E-steps and M-steps from one start theta.

    A component whose variance, relative to that of the points `[N]`, is below `min_variance` has
    collapsed onto one value, where the likelihood is unbounded.
    """

    def step(theta: np.ndarray) -> np.ndarray:
        q = posterior(points, theta)
        if q.sum(0).min() <= MIN_COUNT:
            k = q.sum(0).argmin() + 1
            message = f"component {k} lost all its points in iteration {{iteration}}"
            raise Degenerate("empty", message)
        theta = m_step(points, q)
        k = theta[2].argmin()
        if theta[2, k] < min_variance * points.var():
            raise Degenerate(
                "collapsed",
                f"component {k + 1} collapsed onto y = {theta[1, k]:.4g} in iteration "
                f"{{iteration}} (variance {theta[2, k]:.1e}), where the likelihood is unbounded",
            )
        return theta

    objective = partial(log_likelihood, points)
    return ascend(step, start, objective, iterations, tolerance)


def random_start(points: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Draw two distinct data values as means; variances are those of the data, weights equal."""
    loc = random.choice(np.unique(points), 2, replace=False)
    return np.array([np.full(2, 0.5), loc, np.full(2, points.var())])


def collapsing_start(points: np.ndarray) -> np.ndarray:
    """Return a start from which the first component collapses onto the most isolated point.

    Its standard deviation is a quarter of the distance to the nearest other point. The second
    component has the mean and variance of the data.
    """
    ordered = np.sort(points)
    gaps = np.diff(ordered, prepend=-np.inf, append=np.inf)
    nearest = np.minimum(gaps[:-1], gaps[1:])
    isolated = nearest.argmax()
    variance = [(nearest[isolated] / 4) ** 2, points.var()]
    return np.array([[0.5, 0.5], [ordered[isolated], points.mean()], variance])


def local_maximum(points: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Maximise the likelihood with BFGS from a start close to, but not at, `near`.

    The free variables are the log-odds of the weight, the means and the log variances.
    """

    def theta(free: np.ndarray) -> np.ndarray:
        weight = expit(free[0])
        return np.array([[weight, 1 - weight], free[1:3], np.exp(free[3:])])

    def loss(free: np.ndarray) -> float:
        return -log_likelihood(points, theta(free)) / len(points)

    weight, loc, variance = near
    free = np.array([logit(weight[0]), *loc, *np.log(variance)])
    start = free + START_OFFSET * np.array([1, *np.sqrt(variance), 1, 1])
    return theta(minimize(loss, start, options={"gtol": 1e-8}).x)
