"""The tables of each unit of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.gradient_variance.convergence import (
    AscentSettings,
    gradient_ascent,
)
from bnnbench.suites.inference_toys.gradient_variance.estimators import (
    estimates,
    estimators_for,
    exact_moments,
    optimal_baseline,
    quadratic_variance,
)
from bnnbench.suites.inference_toys.gradient_variance.latents import (
    latent_estimates,
    latent_variance,
)
from bnnbench.suites.inference_toys.gradient_variance.minibatches import (
    mean_over_minibatches,
    minibatch_estimates,
)
from bnnbench.suites.inference_toys.gradient_variance.names import (
    BIAS,
    CONVERGENCE,
    ESTIMATORS,
    LATENTS,
    PARAMETERS,
    QUADRATIC,
    RAO_BLACKWELL,
    SCORE,
    START,
    VARIANCES,
)
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    LinearModel,
    Normal,
    Objective,
    Quadratic,
    Values,
)

Tables = dict[str, list[dict[str, Any]]]

ROUNDING_TOLERANCE = 1e-12
"""Squares below this are rounding errors and are set to zero."""

N_CURVE_POINTS = 200
"""Number of saved points of a convergence curve."""


@dataclass(frozen=True)
class Setup:
    """A setup in which the variance of each estimator is measured.

    Attributes:
        name: name of the objective.
        objective: the function.
        q: the distribution at which to differentiate.
        samples: samples of z per estimate.
    """

    name: str
    objective: Objective
    q: Normal
    samples: int

    @property
    def setting(self) -> str:
        if self.objective.entropy:
            return f"{self.name}, {format_samples(self.samples)}"
        return f"{self.name}, std {self.q.scale:.3g}"


@dataclass(frozen=True)
class Moments:
    """Sample moments of many estimates; `[2]` (by parameter), or numbers.

    Attributes:
        mean: mean of the estimates.
        mean_error: standard error of the mean.
        variance: variance of the estimates.
        variance_error: standard error of the variance.
    """

    mean: Values
    mean_error: Values
    variance: Values
    variance_error: Values


def sample_moments(gradients: Values) -> Moments:
    """Return the moments along the first axis."""
    mean, root = gradients.mean(0), len(gradients) ** 0.5
    squares = _without_rounding_errors((gradients - mean) ** 2)
    return Moments(mean, gradients.std(0) / root, squares.mean(0), squares.std(0) / root)


def _without_rounding_errors(squares: Values) -> Values:
    return np.where(squares < ROUNDING_TOLERANCE, 0.0, squares)


def variance_tables(setups: Sequence[Setup], draws: int, seed: int) -> Tables:
    """Return the variances of every estimator in every setup, from the same samples."""
    rows, answers = [], []
    for setup in setups:
        noise = np.random.default_rng([seed, setup.samples]).standard_normal((draws, setup.samples))
        baseline = optimal_baseline(setup.objective, setup.q)
        for name in estimators_for(setup.objective):
            gradients = estimates(name, setup.objective, setup.q, noise, baseline).mean(1)
            rows += variance_rows(name, setup, sample_moments(gradients))
    for row in rows:
        if row["parameter"] == PARAMETERS[0]:
            answers.append(variance_answer(row, row["setting"]))
    return {ANSWERS: answers, VARIANCES: rows}


def variance_answer(row: dict[str, Any], setting: str) -> dict[str, Any]:
    """Return the answer for a row of variances with respect to the mean."""
    value, error, exact = (row[name] for name in ("variance", "variance_error", "exact"))
    quantity = "variance of the gradient w.r.t. the mean"
    return Answer(quantity, row["estimator"], value, setting, error, exact).row()


def exact_values(name: str, setup: Setup) -> tuple[Values, Values]:
    """Return the exact gradient and the exact variance of an estimate, `[2]` each.

    In closed form for quadratics, by quadrature otherwise.
    """
    gradient, variance = exact_moments(name, setup.objective, setup.q)
    if isinstance(setup.objective, Quadratic):
        gradient = setup.objective.gradient(setup.q)
        variance = quadratic_variance(name, setup.objective, setup.q)
    return gradient, _without_rounding_errors(variance) / setup.samples


def variance_rows(name: str, setup: Setup, moments: Moments) -> list[dict[str, Any]]:
    """Return the rows of one estimator in one setup, one per parameter."""
    gradient, variance = exact_values(name, setup)
    return [
        {
            "objective": setup.name,
            "setting": setup.setting,
            "scale": float(setup.q.scale),
            "samples": setup.samples,
            "estimator": name,
            "parameter": parameter,
            "mean": float(moments.mean[k]),
            "mean_error": float(moments.mean_error[k]),
            "gradient": float(gradient[k]),
            "variance": float(moments.variance[k]),
            "variance_error": float(moments.variance_error[k]),
            "exact": float(variance[k]),
        }
        for k, parameter in enumerate(PARAMETERS)
    ]


def bias_tables(model: LinearModel, size: int, draws: int, seed: int) -> Tables:
    """Return the means of eq. 3.77 at the prior: of samples, and over all minibatches."""
    q, objective = model.prior, model.elbo()
    gradient, random = objective.gradient(q), np.random.default_rng(seed)
    full = sample_moments(estimates(SCORE, objective, q, random.standard_normal(draws)))
    sampled = sample_moments(minibatch_estimates(SCORE, model, q, size, draws, random))
    enumerated = mean_over_minibatches(SCORE, model, q, size)
    means = {
        "all rows": (full.mean, full.mean_error),
        f"random minibatches of {size}": (sampled.mean, sampled.mean_error),
        f"all minibatches of {size}": (enumerated, np.full(2, np.nan)),
    }
    rows: list[dict[str, Any]] = [
        {
            "data": data,
            "parameter": parameter,
            "mean": float(mean[k]),
            "error": float(error[k]),
            "gradient": float(gradient[k]),
        }
        for data, (mean, error) in means.items()
        for k, parameter in enumerate(PARAMETERS)
    ]
    return {ANSWERS: [mean_answer(row) for row in rows], BIAS: rows}


def mean_answer(row: dict[str, Any]) -> dict[str, Any]:
    """Return the answer for a row of mean gradients."""
    value, error, exact = (row[name] for name in ("mean", "error", "gradient"))
    quantity = f"mean gradient w.r.t. the {row['parameter']}"
    return Answer(quantity, SCORE, value, f"{START}, {row['data']}", error, exact).row()


def latent_tables(
    objective: Quadratic, q: Normal, latents: Sequence[int], draws: int, seed: int
) -> Tables:
    """Return the variance for one of K means, with and without Rao-Blackwellisation."""
    rows, answers = [], []
    for count in latents:
        noise = np.random.default_rng([seed, count]).standard_normal((draws, count))
        for name, rao_blackwell in ((SCORE, False), (RAO_BLACKWELL, True)):
            moments = sample_moments(latent_estimates(objective, q, noise, rao_blackwell))
            exact = latent_variance(objective, q, count, rao_blackwell)
            row: dict[str, Any] = {
                "latents": count,
                "estimator": name,
                "variance": float(moments.variance),
                "variance_error": float(moments.variance_error),
                "exact": exact,
            }
            rows.append(row)
            answers.append(variance_answer(row, f"{QUADRATIC}, {count} latent variables"))
    return {ANSWERS: answers, LATENTS: rows}


def convergence_tables(
    model: LinearModel, ascent: AscentSettings, repetitions: int, seed: int
) -> Tables:
    """Return the divergence from the posterior during ascent with every estimator."""
    saved = np.unique(np.linspace(0, ascent.steps, N_CURVE_POINTS + 1).astype(int))
    rows, answers = [], []
    for name in ESTIMATORS:
        random = np.random.default_rng(seed)
        divergences = gradient_ascent(name, model, ascent, random, repetitions)
        low, median, high = np.quantile(divergences[:, saved], [0.1, 0.5, 0.9], axis=0)
        rows += [
            {
                "estimator": name,
                "step": int(step),
                "samples": int(step * ascent.samples),
                "low": float(low[k]),
                "median": float(median[k]),
                "high": float(high[k]),
            }
            for k, step in enumerate(saved)
        ]
        final = divergences[:, -1]
        error = final.std(ddof=1) / repetitions**0.5
        setting = f"ascent, {format_samples(ascent.steps * ascent.samples)}"
        quantity = "KL(q || posterior) [nats]"
        answer = Answer(quantity, name, float(final.mean()), setting, float(error), 0.0)
        answers.append(answer.row())
    return {ANSWERS: answers, CONVERGENCE: rows}


def format_samples(samples: int) -> str:
    """Return `1 sample` or `10 samples`."""
    return f"{samples} sample{'s' if samples > 1 else ''}"
