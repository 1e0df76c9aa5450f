"""Tables of ADF, EP, power EP and black-box alpha."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.noise_precision.belief import Array, Belief
from bnnbench.suites.inference_toys.noise_precision.black_box_alpha import black_box_alpha
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import run_cavi
from bnnbench.suites.inference_toys.noise_precision.exact import kl_to_posterior
from bnnbench.suites.inference_toys.noise_precision.message_passing import (
    UpdateSettings,
    include_repeatedly,
    repeat_adf,
    run_adf,
    run_ep,
)
from bnnbench.suites.inference_toys.noise_precision.moment_matching import (
    Normaliser,
    QuadratureNormaliser,
    gaussian_normaliser,
)
from bnnbench.suites.inference_toys.noise_precision.rows import (
    Approximation,
    Problem,
    Row,
    Tables,
    answer_rows,
    densities,
    moment_answers,
    step_rows,
)

ANSWER_POWER = 0.5
"""The power reported in the answers: alpha 0, according to 3.2.4.2 usually the best."""

NORMALISERS: Mapping[str, Normaliser] = {
    names.GAUSSIAN_K: gaussian_normaliser,
    names.EXACT_K: QuadratureNormaliser(),
}


def ep_settings(problem: Problem) -> dict[str, UpdateSettings]:
    """Return the update settings of ADF and EP by setting."""
    return {
        setting: UpdateSettings(normaliser, problem.reading, problem.with_weight)
        for setting, normaliser in NORMALISERS.items()
    }


def order_rows(approximation: Approximation, beliefs: Belief) -> list[Row]:
    """Return the result of each order, rows of `orders.csv`; the first is that of the data."""
    keys = {"approximation": approximation.algorithm, "setting": approximation.setting}
    return [
        {**keys, "order": k, "mean": float(mean), "std": float(std)}
        for k, (mean, std) in enumerate(zip(beliefs.mean, beliefs.std, strict=True))
    ]


def data_order_answers(
    problem: Problem, approximation: Approximation, skipped: int
) -> Iterator[Answer]:
    """Return the answers of the run in the order of the data."""
    yield from moment_answers(problem, approximation)
    if problem.with_weight:
        q: Any = approximation.q
        gap = kl_to_posterior(problem.model, problem.posterior, q)
        yield Answer(names.GAP, approximation.algorithm, gap, approximation.setting)
    if skipped:
        yield Answer(names.SKIPPED, approximation.algorithm, float(skipped), approximation.setting)


def mean_std_answer(approximation: Approximation, beliefs: Belief) -> Answer:
    """Return the standard deviation of the mean over random orders."""
    means = np.asarray(beliefs.mean)[1:]
    setting = f"{approximation.setting}, {len(means)} orders"
    return Answer(names.MEAN_STD, approximation.algorithm, float(means.std(ddof=1)), setting)


def means_over_orders(
    problem: Problem, approximation: Approximation, beliefs: Belief
) -> Iterator[Answer]:
    """Yield mean and standard deviation of the noise precision, averaged over random orders."""
    for quantity, values, exact in (
        (names.MEAN, np.asarray(beliefs.mean)[1:], problem.target.mean),
        (names.STD, np.asarray(beliefs.std)[1:], problem.target.std),
    ):
        error = float(values.std(ddof=1) / np.sqrt(len(values)))
        setting = f"{approximation.setting}, {len(values)} orders"
        mean = float(values.mean())
        yield Answer(quantity, approximation.algorithm, mean, setting, error, exact)


def adf_tables(problem: Problem, orders: Array, noise_precision: float, inclusions: int) -> Tables:
    """Return the tables of ADF in every order, and of repeated inclusion of factors.

    Args:
        problem: data, priors and exact posteriors.
        orders: row numbers, the first in the order of the data, `[R, N]`.
        noise_precision: noise precision of the one factor that is included repeatedly.
        inclusions: number of inclusions.
    """
    answers: list[Answer] = []
    approximations: list[Approximation] = []
    order_results: list[Row] = []
    repeated: list[Row] = []
    for setting, settings in ep_settings(problem).items():
        result = run_adf(problem.model, orders, settings)
        first = result.belief.at(0)
        skipped = int(result.skipped[0])
        evidence = np.nan if skipped else float(result.log_normaliser_sum[0])
        approximation = Approximation(names.ADF, setting, first, evidence)
        answers += data_order_answers(problem, approximation, skipped)
        answers += means_over_orders(problem, approximation, result.belief)
        answers.append(mean_std_answer(approximation, result.belief))
        approximations.append(approximation)
        order_results += order_rows(approximation, result.belief)
        passes = repeat_adf(problem.model, orders[0], settings, inclusions)
        repeated += repeated_rows(f"ADF, {setting}", [b.at(0) for b in passes])
    counts = range(1, inclusions + 1)
    repeated += [
        {
            "factors": names.ONE_FACTOR,
            "inclusions": k,
            "mean": float(b.loc),
            "std": float(b.weight_std),
        }
        for k in counts
        for b in [include_repeatedly(problem.model, noise_precision, 0, k)]
    ]
    return {
        ANSWERS: answer_rows(answers),
        names.DENSITIES: densities(problem, approximations),
        names.ORDERS: order_results,
        names.REPEATED: repeated,
    }


def repeated_rows(factors: str, beliefs: Sequence[Belief]) -> list[Row]:
    """Return the noise precision after each pass over the data, rows of `repeated.csv`."""
    return [
        {"factors": factors, "inclusions": k, "mean": float(b.mean), "std": float(b.std)}
        for k, b in enumerate(beliefs, 1)
    ]


def ep_tables(problem: Problem, orders: Array, passes: int) -> Tables:
    """Return the tables of EP in every order, with the steps of the first order.

    Args:
        problem: data, priors and exact posteriors.
        orders: row numbers, the first in the order of the data, `[R, N]`.
        passes: maximum number of passes.
    """
    answers: list[Answer] = []
    approximations: list[Approximation] = []
    tables: Tables = {names.ORDERS: [], names.STEPS: [], names.REPEATED: []}
    for setting, settings in ep_settings(problem).items():
        result = run_ep(problem.model, orders, settings, passes)
        first = result.last.belief.at(0)
        skipped = int(result.last.skipped[0])
        evidence = np.nan if skipped else float(result.log_evidences[-1, 0])
        approximation = Approximation(names.EP, setting, first, evidence)
        answers += data_order_answers(problem, approximation, skipped)
        answers.append(mean_std_answer(approximation, result.last.belief))
        answers.append(Answer(names.PASSES, names.EP, float(result.passes[0]), setting))
        approximations.append(approximation)
        tables[names.ORDERS] += order_rows(approximation, result.last.belief)
        trajectory = [beliefs.at(0) for beliefs in result.beliefs]
        means = [float(belief.mean) for belief in trajectory]
        steps, evidences = range(len(trajectory)), result.log_evidences[:, 0]
        tables[names.STEPS] += step_rows(approximation, steps, means, evidences)
        tables[names.REPEATED] += repeated_rows(f"EP, {setting}", trajectory[1:])
    return {
        ANSWERS: answer_rows(answers),
        names.DENSITIES: densities(problem, approximations),
        **tables,
    }


def power_tables(problem: Problem, powers: Sequence[float], passes: int) -> Tables:
    """Return the tables of power EP and black-box alpha at every power, with exact K.

    Power 0 corresponds to VI, power 1 to EP. The book prints no updates of these algorithms, so the
    reading does not matter.

    Args:
        problem: data, priors and exact posteriors.
        powers: powers of the factors, above 0, at most 1; the book's alpha is `2 power - 1`.
        passes: maximum number of passes of power EP.
    """
    model, exponents = problem.model, np.array(powers)
    settings = UpdateSettings(
        QuadratureNormaliser(exponents), names.CORRECTED, problem.with_weight, exponents
    )
    orders = np.tile(np.arange(model.rows), (len(exponents), 1))
    result = run_ep(model, orders, settings, passes)
    start = run_cavi(model, names.CORRECTED).belief
    rows: list[Row] = []
    answers: list[Answer] = []
    for k, power in enumerate(powers):
        belief, evidence = black_box_alpha(model, power, start)
        setting = f"alpha {2 * power - 1:.3g}"
        ep_evidence = float(result.log_evidences[-1, k])
        for approximation in (
            Approximation(names.POWER_EP, setting, result.last.belief.at(k), ep_evidence),
            Approximation(names.BLACK_BOX_ALPHA, setting, belief, evidence),
        ):
            if power == ANSWER_POWER:
                answers += moment_answers(problem, approximation)
            rows.append({
                "approximation": approximation.algorithm,
                "power": power,
                "alpha": 2 * power - 1,
                "mean": float(approximation.q.mean),
                "std": float(approximation.q.std),
                "weight_std": float(approximation.q.weight_std),
                "log_evidence": approximation.log_evidence,
            })  # fmt: skip
    return {ANSWERS: answer_rows(answers), names.POWERS: rows}
