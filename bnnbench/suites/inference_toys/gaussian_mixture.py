"""A Bayesian mixture of Gaussians by coordinate ascent, stochastic VI and variational EM.

Density-ratio thesis, section 3.6; book, sections 3.2.1.4 and 3.2.1.5. Neither reports a number, so
the reference is the exact posterior of ten points, by a sum over all assignments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from scipy.special import gammaln

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.suites.inference_toys import mixture_posterior as posteriors
from bnnbench.suites.inference_toys.ascent import Ascent, best_start, fraction_at, trace_table
from bnnbench.suites.inference_toys.mixture_posterior import ClusteringProblem, MixtureFactors
from bnnbench.types import UserError

TRACE = "trace"
"""ELBO, a row per start and iteration of CAVI."""

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
LOWEST_MEAN_STD = "standard deviation of the lowest mean"
PRIOR_VARIANCE = "prior variance of the means"
EARLY_DISTANCE = "distance to CAVI's fixed point, second tenth of the passes"
LATE_DISTANCE = "distance to CAVI's fixed point, last tenth of the passes"
PASSES = "passes until within 0.1 of CAVI's fixed point"

CLOSE_DISTANCE = 0.1
"""Distance from CAVI's fixed point for `PASSES`."""

Means = Annotated[tuple[float, ...], ListOf(Between(-1e4, 1e4), minimum=2)]


@dataclass(frozen=True, kw_only=True)
class GaussianMixture(TableExperiment):
    """Compares variational approximations of a mixture with exact values where they are feasible.

    See `configs/experiment` for the settings; `seed` is that of the starts and minibatches.
    """

    identity_name = "bnnbench.suites.inference_toys.gaussian_mixture.experiment.GaussianMixture"
    few_means: Means
    few_points: Annotated[int, Whole(2)]
    many_means: Means
    many_points: Annotated[int, Whole(2)]
    data_seed: Annotated[int, Whole(0)]
    prior_variance: Annotated[float, Between(0, 1e9)]
    starts: Annotated[int, Whole()]
    iterations: Annotated[int, Whole()]
    tolerance: Annotated[float, Between(0, 1)]
    batch: Annotated[int, Whole()]
    passes: Annotated[int, Whole()]
    repetitions: Annotated[int, Whole(2)]
    decreasing_power: Annotated[float, Between(0.5, 1, high_included=True)]
    constant_step: Annotated[float, Between(0, 1)]
    too_fast_power: Annotated[float, Between(1, 10)]
    seed: Annotated[int, Whole(0)]
    kind: ClassVar[str] = "gaussian_mixture"
    name: ClassVar[str] = "mixture of Gaussians"
    columns: ClassVar[tuple[str, ...]] = ("many_points", "starts", "seed")

    def check(self) -> None:
        """Raise `UserError` for settings that are invalid or would take hours."""
        super().check()
        components = len(self.few_means)
        max_points = int(np.log(posteriors.MAX_ASSIGNMENTS) / np.log(components) + 1e-9)
        for name, maximum, reason in (
            ("few_points", max_points, f"to enumerate all assignments to {components} components"),
            ("batch", self.many_points, "the number of points"),
        ):
            if (value := getattr(self, name)) > maximum:
                raise UserError(
                    f"experiment.{name} must be at most {maximum}, {reason}, not {value}.",
                    setting=f"experiment.{name}",
                    code="too_large",
                )

    def cases(self) -> dict[str, str]:
        return {part: part for part in ("few", "many", "fitted", "stochastic")}

    def tables(self, case: str) -> Tables:
        if case in ("few", "fitted"):
            few = self._problem(self.few_means, self.few_points)
            return few_tables(few) if case == "few" else fitted_tables(few)
        many = self._problem(self.many_means, self.many_points)
        if case == "many":
            return many_tables(many)
        steps = self.passes * self.many_points // self.batch
        schedules = {
            DECREASING: posteriors.step_sizes(steps, self.decreasing_power),
            CONSTANT: posteriors.step_sizes(steps, 0.0, self.constant_step),
            TOO_FAST: posteriors.step_sizes(steps, self.too_fast_power),
        }
        sizes = self.batch, self.repetitions
        return stochastic_tables(many, schedules, *sizes, self.seed)

    def _problem(self, means: tuple[float, ...], count: int) -> ClusteringProblem:
        """Draw points and starts; a start does not depend on their number."""
        points = posteriors.draw_points(means, count, np.random.default_rng(self.data_seed))
        randoms = [np.random.default_rng([self.seed, start]) for start in range(self.starts)]
        scale = np.sqrt(self.prior_variance)
        starts = np.array([random.normal(scale=scale, size=len(means)) for random in randoms])
        limits = self.iterations, self.tolerance
        return ClusteringProblem(points, starts, self.prior_variance, *limits)


def few_tables(problem: ClusteringProblem) -> Tables:
    """Compare CAVI with the exact posterior."""
    components = problem.starts.shape[1]
    exact = posteriors.enumerate_assignments(problem.points, components, problem.prior_variance)
    fits = problem.run_all_starts()
    best = fits[best_start(fits)]
    bound, q = best.objective[-1], best.states[-1]
    std, exact_std = np.sqrt(q.variance[q.loc.argmin()]), posteriors.lowest_mean(exact)[1]
    answers = [
        Answer(EVIDENCE, CAVI, bound, FEW, exact=exact.log_evidence),
        Answer(GAP, CAVI, exact.log_evidence - bound, FEW),
        Answer(LABELLINGS, "K!", gammaln(components + 1), FEW),
        *_summarise(fits, FEW),
        Answer(LOWEST_MEAN_STD, CAVI, std, FEW, exact=exact_std),
    ]
    return {ANSWERS: answers, TRACE: trace_table("few", "elbo", fits)}


def many_tables(problem: ClusteringProblem) -> Tables:
    """Run CAVI where starts may converge to different optima."""
    fits = problem.run_all_starts()
    answers = [
        Answer(EVIDENCE, CAVI, fits[best_start(fits)].objective[-1], MANY),
        Answer(WORST_ELBO, CAVI, min(fit.objective[-1] for fit in fits), MANY),
        *_summarise(fits, MANY),
    ]
    return {ANSWERS: answers, TRACE: trace_table("many", "elbo", fits)}


def _summarise(fits: Sequence[Ascent[MixtureFactors]], setting: str) -> Iterator[Answer]:
    """Summarise all starts."""
    best = fits[best_start(fits)].objective[-1]
    converged = np.mean([fit.status == "converged" for fit in fits])
    decrease = max(fit.largest_decrease for fit in fits)
    yield Answer(BEST_FRACTION, CAVI, fraction_at(fits, best), setting)
    yield Answer("fraction of starts that converged", CAVI, float(converged), setting)
    yield Answer(LARGEST_DECREASE, CAVI, decrease, setting)


def fitted_tables(problem: ClusteringProblem) -> Tables:
    """Compare variational EM for the prior variance with maximising the exact evidence."""
    data = problem.points, problem.starts.shape[1]
    limits = problem.prior_variance, problem.iterations, problem.tolerance
    fits = [posteriors.fit_prior_variance(data[0], start, *limits) for start in problem.starts]
    last = fits[best_start(fits)].states[-1]
    ends = (last.prior_variance, problem.prior_variance)
    exact = posteriors.exact_prior_variance(*data, 0.1 * min(ends), 10 * max(ends))
    evidence = posteriors.enumerate_assignments(*data, last.prior_variance).log_evidence
    decrease = max(fit.largest_decrease for fit in fits)
    answers = [
        Answer(PRIOR_VARIANCE, VARIATIONAL_EM, last.prior_variance, FEW, exact=exact),
        Answer(EVIDENCE, VARIATIONAL_EM, last.elbo, FEW, exact=evidence),
        Answer(LARGEST_DECREASE, VARIATIONAL_EM, decrease, FEW),
    ]
    return {ANSWERS: answers}


def stochastic_tables(
    problem: ClusteringProblem,
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
        loc = posteriors.run_stochastic_vi(points, start, problem.prior_variance, steps, *sizes)
        distances = distance(loc, locs[-1])
        passes = np.arange(len(loc)) * batch / len(points)
        saved = np.unique(np.round(np.geomspace(1, len(steps), 80)).astype(int))
        tables.append(_distance_table(name, passes[saved], distances[saved]))
        answers += _distance_answers(name, passes, distances)
    return {ANSWERS: answers, STOCHASTIC: pd.concat(tables)}


def distance(loc: np.ndarray, fixed_point: np.ndarray) -> np.ndarray:
    """Return the root mean square over components of `loc - fixed_point`, `[..., K]` to `[...]`."""
    return np.asarray(np.sqrt(((loc - fixed_point) ** 2).mean(-1)))


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
