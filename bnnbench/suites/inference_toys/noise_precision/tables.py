"""Tables of quadrature and coordinate ascent."""

from __future__ import annotations

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import run_cavi
from bnnbench.suites.inference_toys.noise_precision.exact import kl_to_posterior
from bnnbench.suites.inference_toys.noise_precision.rows import (
    Approximation,
    Problem,
    Tables,
    answer_rows,
    densities,
    moment_answers,
    step_rows,
)


def exact_tables(problem: Problem) -> Tables:
    """Return the data, the exact densities and, if (3.48) is the target, its difference."""
    distributions = [Approximation(names.EXACT, "", problem.posterior)]
    answers = []
    if not problem.with_weight:
        distributions.append(Approximation(names.EXACT, names.FACTORISED, problem.target))
        moments = (
            (names.MEAN, problem.target.mean, problem.posterior.mean),
            (names.STD, problem.target.std, problem.posterior.std),
            (names.EVIDENCE, problem.target.log_evidence, problem.posterior.log_evidence),
        )
        answers = [
            Answer(quantity, names.EXACT, value, "target of (3.48)", exact=exact)
            for quantity, value, exact in moments
        ]
    data = zip(problem.model.inputs.tolist(), problem.model.targets.tolist(), strict=True)
    return {
        ANSWERS: answer_rows(answers),
        names.POINTS: [{"input": x, "target": y} for x, y in data],
        names.DENSITIES: densities(problem, distributions),
    }


def cavi_tables(problem: Problem) -> Tables:
    """Return the tables of coordinate ascent: its bound and KL after every update."""
    model, result = problem.model, run_cavi(problem.model, problem.reading)
    gaps = [kl_to_posterior(model, problem.posterior, belief) for belief in result.beliefs]
    approximation = Approximation(names.CAVI, "", result.belief, result.bounds[-1])
    answers = [*moment_answers(problem, approximation), Answer(names.GAP, names.CAVI, gaps[-1])]
    means = [float(belief.mean) for belief in result.beliefs]
    return {
        ANSWERS: answer_rows(answers),
        names.STEPS: step_rows(approximation, range(len(gaps)), means, result.bounds, gaps),
        names.DENSITIES: densities(problem, [approximation]),
    }
