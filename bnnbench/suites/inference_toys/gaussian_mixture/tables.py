"""Tables of a run: CAVI on few and many points, variational EM, and stochastic VI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import gammaln

from bnnbench.experiment.table_experiment import Tables
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.results.saved_tables import table_reader
from bnnbench.suites.inference_toys.gaussian_mixture import enumeration, variational
from bnnbench.suites.inference_toys.gaussian_mixture.model import Factors, log_predictive
from bnnbench.suites.inference_toys.mixtures import Ascent, best_start, fraction_at, trace_table

KIND = "gaussian_mixture"

TRACE = "trace"
"""ELBO and mean log density of held-out points, a row per start and iteration of CAVI."""

PATH, CURVE = "prior_variance_path", "prior_variance_curve"
"""The iterations of variational EM; exact log evidence and ELBO on a grid of prior variances."""

STOCHASTIC = "stochastic"
"""Distance to CAVI's fixed point, one row per schedule, repetition and recorded step."""

FEW, MANY = "few points", "many points"
"""Settings of answers."""

DECREASING, CONSTANT = "decreasing steps", "constant steps"
TOO_FAST = "steps that decrease too fast"
"""Schedules of stochastic VI: the first meets both conditions (3.19), the others violate one."""

CAVI, STOCHASTIC_VI, VARIATIONAL_EM = "CAVI", "stochastic VI", "variational EM"
EVIDENCE = "log evidence [nats]"
GAP = "gap between log evidence and ELBO [nats]"
LABELLINGS = "log number of equivalent labellings [nats]"
WORST_ELBO = "worst ELBO [nats]"
BEST_FRACTION = "fraction of starts at the best ELBO"
LARGEST_DECREASE = "largest decrease of the ELBO in an iteration [nats]"
HELD_OUT = "held-out log density per point [nats]"
LOWEST_MEAN_STD = "standard deviation of the lowest mean"
PRIOR_VARIANCE = "prior variance of the means"
EARLY_DISTANCE = "distance to CAVI's fixed point, second tenth of the passes"
LATE_DISTANCE = "distance to CAVI's fixed point, last tenth of the passes"
PASSES = "passes until within 0.1 of CAVI's fixed point"

CLOSE_DISTANCE = 0.1
"""Distance from CAVI's fixed point for `PASSES`."""

read_run = table_reader(
    {
        TRACE: ("start", "iteration", "elbo", "held_out"),
        STOCHASTIC: ("repetition", "passes", "distance"),
        CURVE: ("prior_variance", "log_evidence", "elbo"),
        PATH: ("prior_variance", "elbo", "second_moment", "components"),
    }
)


@dataclass(frozen=True)
class Problem:
    """A data set and the settings of coordinate ascent on it.

    Attributes:
        means: true means of the components, `[K]`.
        points: the data, `[N]`.
        held_out: held-out points, `[M]`.
        starts: initial means, `[S, K]`.
        prior_variance: of the means; the initial value if it is fitted.
    """

    means: Sequence[float]
    points: np.ndarray
    held_out: np.ndarray
    starts: np.ndarray
    prior_variance: float
    iterations: int
    tolerance: float

    def run_cavi(self, start: np.ndarray, prior_variance: float) -> Ascent[Factors]:
        """Run coordinate ascent from the means `start`, `[K]`."""
        limits = self.iterations, self.tolerance
        return variational.run_cavi(self.points, start, prior_variance, *limits)

    def run_all_starts(self) -> list[Ascent[Factors]]:
        """Run coordinate ascent from every start."""
        return [self.run_cavi(start, self.prior_variance) for start in self.starts]


def few_tables(problem: Problem) -> Tables:
    """Compare CAVI with the exact posterior."""
    new, components = problem.held_out, len(problem.means)
    exact = enumeration.enumerate_assignments(problem.points, components, problem.prior_variance)
    fits = problem.run_all_starts()
    best = fits[best_start(fits)]
    bound, q = best.objective[-1], best.states[-1]
    held_out = log_predictive(new, q.loc, q.variance).mean()
    exact_held_out = enumeration.exact_log_predictive(exact, new).mean()
    std, exact_std = np.sqrt(q.variance[q.loc.argmin()]), enumeration.lowest_mean(exact)[1]
    answers = [
        Answer(EVIDENCE, CAVI, bound, FEW, exact=exact.log_evidence),
        Answer(GAP, CAVI, exact.log_evidence - bound, FEW),
        Answer(LABELLINGS, "K!", gammaln(components + 1), FEW),
        *_summarise(fits, FEW),
        Answer(HELD_OUT, CAVI, held_out, FEW, exact=exact_held_out),
        Answer(LOWEST_MEAN_STD, CAVI, std, FEW, exact=exact_std),
    ]
    return {ANSWERS: answers, TRACE: _trace("few", problem, fits)}


def many_tables(problem: Problem) -> Tables:
    """Run CAVI where starts may converge to different optima."""
    fits = problem.run_all_starts()
    trace, best = _trace("many", problem, fits), best_start(fits)
    held_out = trace.groupby("start")["held_out"].last()
    loc = np.array(problem.means, dtype=float)
    true = log_predictive(problem.held_out, loc, np.zeros_like(loc)).mean()
    answers = [
        Answer(EVIDENCE, CAVI, fits[best].objective[-1], MANY),
        Answer(WORST_ELBO, CAVI, min(fit.objective[-1] for fit in fits), MANY),
        *_summarise(fits, MANY),
        Answer(HELD_OUT, CAVI, held_out[best], MANY),
        Answer(HELD_OUT, "CAVI, worst start", held_out.min(), MANY),
        Answer(HELD_OUT, "true means", true, MANY),
    ]
    return {ANSWERS: answers, TRACE: trace}


def _summarise(fits: Sequence[Ascent[Factors]], setting: str) -> Iterator[Answer]:
    """Summarise all starts."""
    best = fits[best_start(fits)].objective[-1]
    converged = np.mean([fit.status == "converged" for fit in fits])
    decrease = max(fit.largest_decrease for fit in fits)
    yield Answer(BEST_FRACTION, CAVI, fraction_at(fits, best), setting)
    yield Answer("fraction of starts that converged", CAVI, float(converged), setting)
    yield Answer(LARGEST_DECREASE, CAVI, decrease, setting)


def _trace(part: str, problem: Problem, fits: Sequence[Ascent[Factors]]) -> pd.DataFrame:
    """Return a row per start and iteration."""
    columns = []
    for fit in fits:
        moments = [np.array([getattr(q, name) for q in fit.states]) for name in ("loc", "variance")]
        held_out = log_predictive(problem.held_out, *moments).mean(-1)
        columns.append({"elbo": fit.objective, "held_out": held_out})
    return trace_table(part, columns)


def fitted_tables(problem: Problem) -> Tables:
    """Compare variational EM for the prior variance with maximising the exact evidence."""
    points, components = problem.points, len(problem.means)
    limits = problem.prior_variance, problem.iterations, problem.tolerance
    fits = [variational.fit_prior_variance(points, start, *limits) for start in problem.starts]
    steps = fits[best_start(fits)].states
    fitted, loc = steps[-1].prior_variance, steps[-1].factors.loc

    def log_evidence(prior_variance: float) -> float:
        return enumeration.enumerate_assignments(points, components, prior_variance).log_evidence

    low, high = 0.1 * min(fitted, problem.prior_variance), 10 * max(fitted, problem.prior_variance)
    grid = np.geomspace(low, high, 60)
    curve = {
        "prior_variance": grid,
        "log_evidence": [log_evidence(value) for value in grid],
        "elbo": [problem.run_cavi(loc, value).objective[-1] for value in grid],
    }
    names = ("prior_variance", "elbo", "second_moment")
    path = {name: [getattr(step, name) for step in steps] for name in names}
    keys = {"iteration": range(len(steps)), "components": components}
    exact = enumeration.exact_prior_variance(points, components, low, high)
    evidence, decrease = log_evidence(fitted), max(fit.largest_decrease for fit in fits)
    answers = [
        Answer(PRIOR_VARIANCE, VARIATIONAL_EM, fitted, FEW, exact=exact),
        Answer(EVIDENCE, VARIATIONAL_EM, steps[-1].elbo, FEW, exact=evidence),
        Answer(LARGEST_DECREASE, VARIATIONAL_EM, decrease, FEW),
    ]
    return {ANSWERS: answers, CURVE: pd.DataFrame(curve), PATH: pd.DataFrame({**keys, **path})}


def stochastic_tables(
    problem: Problem,
    schedules: Mapping[str, Sequence[float]],
    batch: int,
    repetitions: int,
    seed: int,
) -> Tables:
    """Run stochastic VI from the start with the highest ELBO after coordinate ascent.

    The schedules are step sizes, `[T]`; each repetition has its own minibatches.
    """
    cavi, points = problem.run_all_starts(), problem.points
    best = best_start(cavi)
    locs = np.array([q.loc for q in cavi[best].states])
    distances = distance(locs, locs[-1])
    tables = [_distance_table(CAVI, np.arange(1.0, len(locs)), distances[1:, None])]
    answers = [Answer(PASSES, CAVI, float(np.argmax(distances < CLOSE_DISTANCE)), MANY)]
    for index, (name, steps) in enumerate(schedules.items()):
        random, start = np.random.default_rng([seed, best, index]), problem.starts[best]
        sizes = batch, repetitions, random
        loc = variational.run_stochastic_vi(points, start, problem.prior_variance, steps, *sizes)
        distances = distance(loc, locs[-1])
        passes = np.arange(len(loc)) * batch / len(points)
        saved = np.unique(np.round(np.geomspace(1, len(steps), 80)).astype(int))
        tables.append(_distance_table(name, passes[saved], distances[saved]))
        answers += _distance_answers(name, passes, distances)
    return {ANSWERS: answers, STOCHASTIC: pd.concat(tables)}


def distance(loc: np.ndarray, fixed_point: np.ndarray) -> np.ndarray:
    """Return the root mean square over components of `loc - fixed_point`, `[..., K]` to `[...]`."""
    return np.sqrt(((loc - fixed_point) ** 2).mean(-1))


def _distance_table(schedule: str, passes: np.ndarray, distances: np.ndarray) -> pd.DataFrame:
    """Return one row per element of `passes`, `[T]`, and repetition; `distances` is `[T, R]`."""
    repetitions = distances.shape[1]
    keys = {"schedule": schedule, "repetition": np.tile(np.arange(repetitions), len(passes))}
    values = {"passes": np.repeat(passes, repetitions), "distance": distances.ravel()}
    return pd.DataFrame({**keys, **values})


def _distance_answers(schedule: str, passes: np.ndarray, distances: np.ndarray) -> Iterator[Answer]:
    """Return means and standard errors over repetitions; `distances` is `[T + 1, R]`."""
    tenth, is_close = max(1, len(distances) // 10), distances < CLOSE_DISTANCE
    values = {
        EARLY_DISTANCE: distances[tenth : 2 * tenth].mean(0),
        LATE_DISTANCE: distances[-tenth:].mean(0),
    }
    if is_close.any(0).all():
        values[PASSES] = passes[np.argmax(is_close, axis=0)]
    for quantity, value in values.items():
        error = value.std(ddof=1) / np.sqrt(len(value))
        yield Answer(quantity, STOCHASTIC_VI, value.mean(), schedule, standard_error=error)
