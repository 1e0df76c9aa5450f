"""The tables of a run: the names in them, and how they are computed and read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from bnnbench.experiment.table_experiment import Tables
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.results.saved_tables import table_reader
from bnnbench.suites.inference_toys.gradient_variance import estimators
from bnnbench.suites.inference_toys.gradient_variance.ascent import gradient_ascent
from bnnbench.suites.inference_toys.gradient_variance.estimators import ESTIMATORS, SCORE, estimates
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    LinearModel,
    Normal,
    Objective,
    Quadratic,
    Values,
)

VARIANCES, BIAS, LATENTS, CONVERGENCE = "variances", "bias", "latents", "convergence"

MOMENTS = ("mean", "mean_error", "variance", "variance_error")

read_run = table_reader(
    {
        # One row per objective, q, number of samples, estimator and parameter.
        VARIANCES: ("scale", "samples", "gradient", *MOMENTS, "exact"),
        # Means of many estimates and the exact gradient, with all rows and with minibatches.
        BIAS: ("mean", "error", "gradient"),
        # Variance with K latent variables, with and without Rao-Blackwellisation.
        LATENTS: ("latents", "variance", "variance_error", "exact"),
        # KL to the exact posterior during gradient ascent, one row per estimator and step.
        CONVERGENCE: ("step", "samples", "low", "median", "high"),
    }
)

RAO_BLACKWELL = "score, Rao-Blackwell"

PARAMETERS = ("mean", "log std")
"""Parameters of `q = Normal(loc, scale^2)`, in the order of the last axis of every gradient."""

QUADRATIC, COSINE = "quadratic", "cosine"
START, OPTIMUM = "ELBO at the prior", "ELBO at the posterior"

ROUNDING_TOLERANCE = 1e-12
"""Squares below this are rounding errors and are set to zero."""

N_CURVE_POINTS = 200
"""Number of saved points of a convergence curve."""


class Setup(NamedTuple):
    """A function, a q and a number of samples for which all variances are measured."""

    name: str
    setting: str
    objective: Objective
    q: Normal
    samples: int


def sample_moments(gradients: Values) -> dict[str, Values]:
    """Return mean and variance along the first axis, and their standard errors."""
    mean, root = gradients.mean(0), len(gradients) ** 0.5
    squares = _without_rounding_errors((gradients - mean) ** 2)
    return {
        "mean": mean,
        "mean_error": gradients.std(0) / root,
        "variance": squares.mean(0),
        "variance_error": squares.std(0) / root,
    }


def _without_rounding_errors(squares: Values) -> Values:
    return np.where(squares < ROUNDING_TOLERANCE, 0.0, squares)


def variance_tables(setups: Iterable[Setup], draws: int, seed: int) -> Tables:
    """Return the variances of every estimator in every setup, from the same samples."""
    parts = []
    for setup in setups:
        noise = np.random.default_rng([seed, setup.samples]).standard_normal((draws, setup.samples))
        nodes = estimators.quadrature_nodes()
        baseline = estimators.optimal_baseline(setup.objective, setup.q, *nodes)
        for name in estimators.estimators_for(setup.objective):
            gradients = estimates(name, setup.objective, setup.q, noise, baseline).mean(1)
            gradient, variance = estimators.exact_moments(name, setup.objective, setup.q)
            columns = {
                "objective": setup.name,
                "setting": setup.setting,
                "scale": setup.q.scale,
                "samples": setup.samples,
                "estimator": name,
                "parameter": PARAMETERS,
                "gradient": gradient,
                **sample_moments(gradients),
                "exact": _without_rounding_errors(variance) / setup.samples,
            }
            parts.append(pd.DataFrame(columns))
    rows = pd.concat(parts)
    of_mean = rows[rows["parameter"] == PARAMETERS[0]]
    return {ANSWERS: variance_answers(of_mean), VARIANCES: rows}


def variance_answers(rows: pd.DataFrame) -> list[Answer]:
    """Return the answers for variances with respect to the mean of q."""
    quantity = "variance of the gradient w.r.t. the mean"
    return [
        Answer(quantity, row.estimator, row.variance, row.setting, row.variance_error, row.exact)
        for row in rows.itertuples()
    ]


def bias_tables(model: LinearModel, size: int, draws: int, seed: int) -> Tables:
    """Return the means of eq. 3.77 at the prior: of samples, and over all minibatches."""
    q, objective, random = model.prior, model.elbo(), np.random.default_rng(seed)
    full = sample_moments(estimates(SCORE, objective, q, random.standard_normal(draws)))
    batches = model.elbo(estimators.random_minibatches(len(model.targets), size, draws, random))
    sampled = sample_moments(estimates(SCORE, batches, q, random.standard_normal(draws)))
    means = {
        "all rows": (full["mean"], full["mean_error"]),
        f"random minibatches of {size}": (sampled["mean"], sampled["mean_error"]),
        f"all minibatches of {size}": (estimators.mean_over_minibatches(model, q, size), np.nan),
    }
    gradient = {"parameter": PARAMETERS, "gradient": objective.gradient(q)}
    rows = pd.concat(
        pd.DataFrame({"data": data, "mean": mean, "error": error, **gradient})
        for data, (mean, error) in means.items()
    )
    answers = [
        Answer(f"mean gradient w.r.t. the {row.parameter}", SCORE, row.mean,
               f"{START}, {row.data}", row.error, row.gradient)
        for row in rows.itertuples()
    ]  # fmt: skip
    return {ANSWERS: answers, BIAS: rows}


def latent_tables(
    term: Quadratic, q: Normal, latents: Sequence[int], draws: int, seed: int
) -> Tables:
    """Return the variance for one of K means, with and without Rao-Blackwellisation."""
    rows = []
    for count in latents:
        noise = np.random.default_rng([seed, count]).standard_normal((draws, count))
        for name, used in ((SCORE, count), (RAO_BLACKWELL, 1)):
            moments = sample_moments(estimators.latent_estimates(term, q, noise[:, :used]))
            variances = {key: moments[key] for key in ("variance", "variance_error")}
            exact = estimators.latent_variance(term, q, used)
            rows.append({"latents": count, "estimator": name, **variances, "exact": exact})
    table = pd.DataFrame(rows)
    settings = [f"{QUADRATIC}, {count} latent variables" for count in table["latents"]]
    return {ANSWERS: variance_answers(table.assign(setting=settings)), LATENTS: table}


def convergence_tables(
    model: LinearModel, shape: tuple[int, int, int], learning_rate: float, seed: int
) -> Tables:
    """Return the divergence from the posterior during ascent with every estimator.

    The shape holds the numbers of steps, of repetitions, and of samples of z per step.
    """
    steps, repetitions, samples = shape
    saved = np.unique(np.linspace(0, steps, N_CURVE_POINTS + 1).astype(int))
    setting = f"ascent, {steps * samples} samples"
    rows, answers = [], []
    for name in ESTIMATORS:
        random = np.random.default_rng(seed)
        divergences = gradient_ascent(name, model, random, shape, learning_rate)
        low, median, high = np.quantile(divergences[:, saved], [0.1, 0.5, 0.9], axis=0)
        steps_saved = {"estimator": name, "step": saved, "samples": saved * samples}
        rows.append(pd.DataFrame({**steps_saved, "low": low, "median": median, "high": high}))
        final = divergences[:, -1]
        error = final.std(ddof=1) / repetitions**0.5
        quantity = "KL(q || posterior) [nats]"
        answers.append(Answer(quantity, name, final.mean(), setting, error, exact=0.0))
    return {ANSWERS: answers, CONVERGENCE: pd.concat(rows)}
