"""The parts of a run on coordinate ascent (CAVI) and variational EM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.gaussian_mixture import names
from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import Trajectory
from bnnbench.suites.inference_toys.gaussian_mixture.enumeration import (
    enumerate_assignments,
    exact_log_predictive,
    exact_prior_variance,
    lowest_mean,
)
from bnnbench.suites.inference_toys.gaussian_mixture.model import log_predictive
from bnnbench.suites.inference_toys.gaussian_mixture.problem import (
    PartResults,
    Problem,
    Row,
    best_start,
)
from bnnbench.suites.inference_toys.gaussian_mixture.variational_em import fit_prior_variance

SAME_OPTIMUM_TOLERANCE = 1e-6
"""Difference of the ELBO in nats within which two starts have reached the same optimum."""


def few_points(problem: Problem) -> PartResults:
    """Compare CAVI with the exact posterior."""
    points, new = problem.data.draw(), problem.data.draw_held_out(problem.held_out)
    exact = enumerate_assignments(points, problem.components, problem.prior_variance)
    results = problem.run_all_starts()
    best = results[best_start(results)]
    lowest = best.loc[-1].argmin()
    lowest_std = float(np.sqrt(best.variance[-1][lowest]))
    held_out = float(log_predictive(new, best.loc[-1], best.variance[-1]).mean())
    log_evidence, bound = exact.log_evidence, float(best.elbo[-1])
    answers = [
        _few(names.EVIDENCE, bound, log_evidence),
        _few(names.GAP, log_evidence - bound),
        Answer(names.LABELLINGS, "K!", float(gammaln(problem.components + 1)), names.FEW_POINTS),
        *_start_answers(results, names.FEW_POINTS),
        _few(names.HELD_OUT, held_out, float(exact_log_predictive(exact, new).mean())),
        _few(names.LOWEST_MEAN_STD, lowest_std, lowest_mean(exact)[1]),
    ]
    return PartResults(answers, _tables(problem, names.FEW, results))


def _few(quantity: str, value: float, exact: float = np.nan) -> Answer:
    return Answer(quantity, names.CAVI, value, names.FEW_POINTS, exact=exact)


def many_points(problem: Problem) -> PartResults:
    """Run CAVI where starts may converge to different optima."""
    results = problem.run_all_starts()
    new = problem.data.draw_held_out(problem.held_out)
    best = best_start(results)
    rows = _tables(problem, names.MANY, results)
    held_out = [float(row["held_out"]) for row in rows[names.STARTS]]
    loc = np.array(problem.data.means, dtype=float)
    true = float(log_predictive(new, loc, np.zeros_like(loc)).mean())
    answers = [
        _many(names.EVIDENCE, names.CAVI, float(results[best].elbo[-1])),
        _many(names.WORST_ELBO, names.CAVI, float(min(result.elbo[-1] for result in results))),
        *_start_answers(results, names.MANY_POINTS),
        _many(names.HELD_OUT, names.CAVI, held_out[best]),
        _many(names.HELD_OUT, names.WORST_START, min(held_out)),
        _many(names.HELD_OUT, names.TRUE_MEANS, true),
    ]
    return PartResults(answers, rows)


def _many(quantity: str, approximation: str, value: float) -> Answer:
    return Answer(quantity, approximation, value, names.MANY_POINTS)


def _start_answers(results: Sequence[Trajectory], setting: str) -> list[Answer]:
    """Return the answers about all starts."""
    elbo = np.array([result.elbo[-1] for result in results])
    values = {
        names.BEST_FRACTION: (elbo > elbo.max() - SAME_OPTIMUM_TOLERANCE).mean(),
        names.CONVERGED_FRACTION: np.mean([result.converged for result in results]),
        names.LARGEST_DECREASE: max(result.largest_decrease for result in results),
    }
    return [
        Answer(quantity, names.CAVI, float(value), setting) for quantity, value in values.items()
    ]


def _tables(problem: Problem, part: str, results: Sequence[Trajectory]) -> dict[str, list[Row]]:
    """Return the points, one row per start, and one row per start and iteration."""
    new = problem.data.draw_held_out(problem.held_out)
    starts, trace = [], []
    for number, result in enumerate(results):
        held_out = log_predictive(new, result.loc, result.variance).mean(-1)
        keys = {"part": part, "start": number}
        for iteration, bound in enumerate(result.elbo):
            factors = {
                f"{name}_{k}": float(values[iteration, k])
                for k in range(result.loc.shape[1])
                for name, values in (("loc", result.loc), ("variance", result.variance))
            }
            scores = {"elbo": float(bound), "held_out": float(held_out[iteration])}
            trace.append({**keys, "iteration": iteration, **scores, **factors})
        starts.append({
            **keys,
            "iterations": len(result.elbo) - 1,
            "converged": int(result.converged),
            "elbo": float(result.elbo[-1]),
            "held_out": float(held_out[-1]),
            "largest_decrease": result.largest_decrease,
        })  # fmt: skip
    points = [{"part": part, "point": float(point)} for point in problem.data.draw()]
    return {names.POINTS: points, names.STARTS: starts, names.TRACE: trace}


def fitted_prior_variance(problem: Problem) -> PartResults:
    """Compare variational EM for the prior variance with maximising the exact evidence."""
    points, components = problem.data.draw(), problem.components
    limits = problem.prior_variance, problem.iterations, problem.tolerance
    fits = [fit_prior_variance(points, problem.start(n), *limits) for n in range(problem.starts)]
    best = fits[best_start(fits)]
    fitted, final_loc = float(best.prior_variance[-1]), best.loc[-1]
    low, high = 0.1 * min(fitted, problem.prior_variance), 10 * max(fitted, problem.prior_variance)
    curve = [
        {
            "prior_variance": float(value),
            "log_evidence": enumerate_assignments(points, components, value).log_evidence,
            "elbo": float(problem.run(final_loc, value).elbo[-1]),
        }
        for value in np.geomspace(low, high, 60)
    ]
    columns = {
        "prior_variance": best.prior_variance,
        "elbo": best.elbo,
        "second_moment": best.second_moment,
    }
    path = [
        {"iteration": t, **{name: float(getattr(best, name)[t]) for name in columns}}
        for t in range(len(best.elbo))
    ]
    decrease = max(fit.largest_decrease for fit in fits)
    exact = exact_prior_variance(points, components, low, high)
    evidence = enumerate_assignments(points, components, fitted).log_evidence
    method, setting = names.VARIATIONAL_EM, names.FEW_POINTS
    answers = [
        Answer(names.PRIOR_VARIANCE, method, fitted, setting, exact=exact),
        Answer(names.EVIDENCE, method, float(best.elbo[-1]), setting, exact=evidence),
        Answer(names.LARGEST_DECREASE, method, decrease, setting),
    ]
    return PartResults(
        answers, {names.PRIOR_VARIANCE_CURVE: curve, names.PRIOR_VARIANCE_PATH: path}
    )
