"""Tables of stochastic gradient methods; separate because it imports torch."""

from __future__ import annotations

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.noise_precision.exact import kl_to_posterior
from bnnbench.suites.inference_toys.noise_precision.log_normal import log_normal_kl
from bnnbench.suites.inference_toys.noise_precision.rows import (
    Approximation,
    Problem,
    Tables,
    answer_rows,
    densities,
    moment_answers,
    step_rows,
)
from bnnbench.suites.inference_toys.noise_precision.stochastic_gradients import (
    Budget,
    GradientAscentResult,
    advi,
    black_box_vi,
)


def advi_tables(problem: Problem, budget: Budget) -> Tables:
    """Return the tables of ADVI with a mean field and with a full covariance."""
    tables: Tables = {ANSWERS: [], names.STEPS: [], names.DENSITIES: []}
    for setting in (names.MEAN_FIELD, names.FULL):
        result = advi(problem.model, budget, setting == names.FULL)
        approximation = Approximation(names.ADVI, setting, result.q, result.bounds[-1])
        gap = log_normal_kl(problem.model, problem.posterior, result.q)
        for name, rows in trajectory_tables(problem, approximation, result, gap).items():
            tables[name] += rows
    return tables


def black_box_vi_tables(problem: Problem, budget: Budget) -> Tables:
    """Return the tables of black-box variational inference with the score function."""
    result = black_box_vi(problem.model, budget)
    approximation = Approximation(names.BLACK_BOX_VI, "", result.q, result.bounds[-1])
    gap = kl_to_posterior(problem.model, problem.posterior, result.q)
    return trajectory_tables(problem, approximation, result, gap)


def trajectory_tables(
    problem: Problem, approximation: Approximation, result: GradientAscentResult, gap: float
) -> Tables:
    """Return the tables of one ascent.

    Args:
        problem: data, priors and exact posteriors.
        approximation: the resulting approximation.
        result: the ascent.
        gap: KL to the posterior at its end, nats.
    """
    answers = [
        *moment_answers(problem, approximation),
        Answer(names.GAP, approximation.algorithm, gap, approximation.setting),
    ]
    return {
        ANSWERS: answer_rows(answers),
        names.STEPS: step_rows(approximation, result.steps, result.means, result.bounds),
        names.DENSITIES: densities(problem, [approximation]),
    }
