"""What is measured of the estimators: the rows of a run's tables, unit by unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.gradient_variance.convergence import Ascent, climb
from bnnbench.suites.inference_toys.gradient_variance.estimators import (
    best_baseline,
    estimates,
    estimators_of,
    exact_moments,
    quadratic_variance,
)
from bnnbench.suites.inference_toys.gradient_variance.latents import (
    latent_estimates,
    latent_variance,
)
from bnnbench.suites.inference_toys.gradient_variance.minibatches import (
    drawn_estimates,
    enumerated_mean,
)
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    Normal,
    Objective,
    OneWeight,
    Quadratic,
    Values,
)
from bnnbench.suites.inference_toys.gradient_variance.tables import (
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

Tables = dict[str, list[dict[str, Any]]]

NOTHING = 1e-12
"""A variance that is rounding and stands as zero."""

POINTS = 200
"""Of a curve that is kept."""


@dataclass(frozen=True)
class Place:
    """Where the variance of an estimate is measured.

    Attributes:
        name: of the objective.
        objective: the function.
        q: where the gradient is taken.
        samples: draws of z that one estimate is the mean of.
    """

    name: str
    objective: Objective
    q: Normal
    samples: int

    @property
    def setting(self) -> str:
        if self.objective.entropy:
            return f"{self.name}, {counted(self.samples)}"
        return f"{self.name}, deviation {self.q.scale:.3g}"


@dataclass(frozen=True)
class Moments:
    """Of many estimates, `[2]` by parameter unless a number, with standard errors.

    Attributes:
        mean: of the estimates.
        mean_error: its standard error.
        variance: of the estimates.
        variance_error: its standard error.
    """

    mean: Values
    mean_error: Values
    variance: Values
    variance_error: Values


def moments_of(found: Values) -> Moments:
    """Of estimates along the first axis."""
    mean, root = found.mean(0), len(found) ** 0.5
    squares = _or_zero((found - mean) ** 2)
    return Moments(mean, found.std(0) / root, squares.mean(0), squares.std(0) / root)


def _or_zero(squares: Values) -> Values:
    return np.where(squares < NOTHING, 0.0, squares)


def variance_tables(places: Sequence[Place], draws: int, seed: int) -> Tables:
    """Every estimator at every place; all of them get the same draws."""
    rows, answers = [], []
    for place in places:
        noise = np.random.default_rng([seed, place.samples]).standard_normal((draws, place.samples))
        baseline = best_baseline(place.objective, place.q)
        for name in estimators_of(place.objective):
            found = estimates(name, place.objective, place.q, noise, baseline).mean(1)
            gradient, exact = exact_of(name, place)
            rows += rows_of(name, place, moments_of(found), gradient, exact)
    for row in rows:
        if row["parameter"] == PARAMETERS[0]:
            answers.append(variance_answer(row, row["setting"]))
    return {ANSWERS: answers, VARIANCES: rows}


def variance_answer(row: dict[str, Any], setting: str) -> dict[str, Any]:
    """The answer that a row of variances by the mean is."""
    value, error, exact = (row[name] for name in ("variance", "variance_error", "exact"))
    quantity = "variance, by the mean"
    return Answer(quantity, row["estimator"], value, setting, error, exact).row()


def exact_of(name: str, place: Place) -> tuple[Values, Values]:
    """The gradient, and the variance of an estimate, `[2]` each.

    In closed form for quadratics, by quadrature otherwise.
    """
    gradient, variance = exact_moments(name, place.objective, place.q)
    if isinstance(place.objective, Quadratic):
        gradient = place.objective.gradient(place.q)
        variance = quadratic_variance(name, place.objective, place.q)
    return gradient, _or_zero(variance) / place.samples


def rows_of(
    name: str, place: Place, found: Moments, gradient: Values, exact: Values
) -> list[dict[str, Any]]:
    """The rows of one estimator at one place, by parameter."""
    return [
        {
            "objective": place.name,
            "setting": place.setting,
            "scale": float(place.q.scale),
            "samples": place.samples,
            "estimator": name,
            "parameter": parameter,
            "mean": float(found.mean[k]),
            "mean_error": float(found.mean_error[k]),
            "gradient": float(gradient[k]),
            "variance": float(found.variance[k]),
            "variance_error": float(found.variance_error[k]),
            "exact": float(exact[k]),
        }
        for k, parameter in enumerate(PARAMETERS)
    ]


def bias_tables(line: OneWeight, size: int, draws: int, seed: int) -> Tables:
    """The mean of eq. 3.77 at the prior: of draws, and over all minibatches by quadrature."""
    q, objective = line.prior, line.elbo()
    gradient, random = objective.gradient(q), np.random.default_rng(seed)
    whole = moments_of(estimates(SCORE, objective, q, random.standard_normal(draws)))
    parts = moments_of(drawn_estimates(SCORE, line, q, size, draws, random))
    listed = enumerated_mean(SCORE, line, q, size)
    ways = {
        "all rows": (whole.mean, whole.mean_error),
        f"minibatches of {size}": (parts.mean, parts.mean_error),
        f"every minibatch of {size}": (listed, np.full(2, np.nan)),
    }
    rows: list[dict[str, Any]] = [
        {
            "way": way,
            "parameter": parameter,
            "mean": float(mean[k]),
            "error": float(error[k]),
            "gradient": float(gradient[k]),
        }
        for way, (mean, error) in ways.items()
        for k, parameter in enumerate(PARAMETERS)
    ]
    return {ANSWERS: [mean_answer(row) for row in rows], BIAS: rows}


def mean_answer(row: dict[str, Any]) -> dict[str, Any]:
    """The answer that a row of mean gradients is."""
    value, error, exact = (row[name] for name in ("mean", "error", "gradient"))
    quantity = f"mean gradient, by the {row['parameter']}"
    return Answer(quantity, SCORE, value, f"{START}, {row['way']}", error, exact).row()


def latent_tables(
    objective: Quadratic, q: Normal, latents: Sequence[int], draws: int, seed: int
) -> Tables:
    """The variance by one of K means, with all terms of the log joint and with its own."""
    rows, answers = [], []
    for count in latents:
        noise = np.random.default_rng([seed, count]).standard_normal((draws, count))
        for name, own in ((SCORE, False), (RAO_BLACKWELL, True)):
            found = moments_of(latent_estimates(objective, q, noise, own))
            exact = latent_variance(objective, q, count, own)
            row: dict[str, Any] = {
                "latents": count,
                "estimator": name,
                "variance": float(found.variance),
                "variance_error": float(found.variance_error),
                "exact": exact,
            }
            rows.append(row)
            answers.append(variance_answer(row, f"{QUADRATIC}, one of {count} unknowns"))
    return {ANSWERS: answers, LATENTS: rows}


def convergence_tables(line: OneWeight, ascent: Ascent, repetitions: int, seed: int) -> Tables:
    """The way of every estimator from the prior to the posterior, from the same draws."""
    kept = np.unique(np.linspace(0, ascent.steps, POINTS + 1).astype(int))
    rows, answers = [], []
    for name in ESTIMATORS:
        random = np.random.default_rng(seed)
        distances = climb(name, line, ascent, random, repetitions)
        low, middle, high = np.quantile(distances[:, kept], [0.1, 0.5, 0.9], axis=0)
        rows += [
            {
                "estimator": name,
                "step": int(step),
                "samples": int(step * ascent.samples),
                "low": float(low[k]),
                "median": float(middle[k]),
                "high": float(high[k]),
            }
            for k, step in enumerate(kept)
        ]
        end, error = distances[:, -1].mean(), distances[:, -1].std(ddof=1) / repetitions**0.5
        setting = f"ascent, {counted(ascent.steps * ascent.samples)}"
        quantity = "KL(q || posterior) [nats]"
        answer = Answer(quantity, name, float(end), setting, float(error), 0.0)
        answers.append(answer.row())
    return {ANSWERS: answers, CONVERGENCE: rows}


def counted(samples: int) -> str:
    """`1 sample`, `10 samples`."""
    return f"{samples} sample{'s' if samples > 1 else ''}"
