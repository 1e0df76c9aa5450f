"""Score-function and pathwise gradients: variance, bias and convergence.

Book, sections 3.2.4.1 and 3.2.4.2 and Appendix A.1. The book prints no numbers; the functions and
settings are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from bnnbench.constraints import Between, Finite, ListOf, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.random_streams import derive_seed
from bnnbench.suites.inference_toys.gradient_estimators import (
    ESTIMATORS,
    SCORE,
    Cosine,
    KnownNoiseModel,
    Normal,
    Objective,
    Quadratic,
    estimates,
    estimators_for,
    exact_moments,
    gradient_ascent,
    mean_over_minibatches,
    optimal_baseline,
    quadrature_nodes,
    sample_moments,
    without_rounding_errors,
)
from bnnbench.suites.inference_toys.maths import simulate_line
from bnnbench.types import UserError

VARIANCES, BIAS, CONVERGENCE = "variances", "bias", "convergence"
"""Units of a run; the first and the last have tables of that name."""

MOMENTS = ("mean", "mean_error", "variance", "variance_error")

PARAMETERS = ("mean", "log std")
"""Parameters of `q = Normal(loc, scale^2)`, in the order of the last axis of every gradient."""

QUADRATIC, COSINE = "quadratic", "cosine"
START, OPTIMUM = "ELBO at the prior", "ELBO at the posterior"

ALL_MINIBATCHES = "all minibatches"

N_CURVE_POINTS = 200
"""Number of saved points of a convergence curve."""


class Setup(NamedTuple):
    """A function and a q for which all variances of one-sample estimates are measured."""

    name: str
    setting: str
    objective: Objective
    q: Normal


MAX_MINIBATCHES = 20_000
"""Maximum number of enumerated minibatches; each needs a quadrature."""

MAX_DRAWS = 10**6
"""Maximum number of estimates, to limit the memory."""

Positive = Annotated[float, Between(0)]


@dataclass(frozen=True, kw_only=True)
class GradientVariance(TableExperiment):
    """Estimates gradients of `E_q[f]` for a quadratic, a cosine and the ELBO of one weight.

    See `configs/experiment` for the settings; `seed` is that of the samples.
    """

    identity_name = "bnnbench.suites.inference_toys.gradient_variance.experiment.GradientVariance"
    seed: Annotated[int, Whole(0)]
    draws: Annotated[int, Whole(100, MAX_DRAWS)]
    scales: Annotated[tuple[float, ...], ListOf(Between(0))]
    target: Annotated[float, Finite()]
    frequency: Annotated[float, Between(0, 50)]
    rows: Annotated[int, Whole(2)]
    weight: Annotated[float, Finite()]
    noise_precision: Positive
    prior_precision: Positive
    data_seed: Annotated[int, Whole(0)]
    minibatch: Annotated[int, Whole()]
    ascent_steps: Annotated[int, Whole()]
    samples_per_step: Annotated[int, Whole(2, MAX_DRAWS)]
    learning_rate: Positive
    repetitions: Annotated[int, Whole(2)]
    kind: ClassVar[str] = "gradient_variance"
    name: ClassVar[str] = "gradient variance"
    unit_noun: ClassVar[str] = "part"
    columns: ClassVar[tuple[str, ...]] = ("draws", "seed")

    def check(self) -> None:
        """Raise `UserError` if a setting is invalid or would take too long."""
        super().check()
        if not 0 < math.comb(self.rows, self.minibatch) <= MAX_MINIBATCHES:
            raise UserError(
                f"experiment.minibatch={self.minibatch} must give 1 to {MAX_MINIBATCHES} different "
                f"minibatches of the experiment.rows={self.rows} rows.",
                setting="experiment.minibatch",
                code="cannot_enumerate",
            )

    @property
    def model(self) -> KnownNoiseModel:
        """The regression model with its data."""
        data = simulate_line(self.rows, self.weight, self.noise_precision, self.data_seed)
        return KnownNoiseModel(*data, self.noise_precision, self.prior_precision)

    def setups(self) -> Iterator[Setup]:
        """Yield the setups in which variances are measured."""
        functions: dict[str, Objective] = {
            QUADRATIC: Quadratic(self.target**2, -2 * self.target, 1.0),  # (z - target)^2
            COSINE: Cosine(self.frequency),
        }
        for scale, (name, function) in product(self.scales, functions.items()):
            yield Setup(name, f"{name}, std {scale:.3g}", function, Normal(0.0, scale))
        model, elbo = self.model, self.model.elbo()
        yield Setup(START, f"{START}, 1 sample", elbo, model.prior)
        yield Setup(OPTIMUM, f"{OPTIMUM}, 1 sample", elbo, model.posterior)

    def cases(self) -> Mapping[str, str]:
        return {name: name for name in (VARIANCES, BIAS, CONVERGENCE)}

    def tables(self, case: str) -> Tables:
        """Compute the answers and the table of one part."""
        seed = derive_seed(self.seed, case)
        if case == VARIANCES:
            return variance_tables(self.setups(), self.draws, seed)
        if case == BIAS:
            return {ANSWERS: bias_answers(self.model, self.minibatch)}
        shape = (self.ascent_steps, self.repetitions, self.samples_per_step)
        return convergence_tables(self.model, shape, self.learning_rate, seed)


def variance_tables(setups: Iterable[Setup], draws: int, seed: int) -> Tables:
    """Return the variances of every estimator in every setup, from the same samples."""
    noise = np.random.default_rng([seed, 1]).standard_normal((draws, 1))
    nodes, parts = quadrature_nodes(), []
    for setup in setups:
        baseline = optimal_baseline(setup.objective, setup.q, *nodes)
        for name in estimators_for(setup.objective):
            gradients = estimates(name, setup.objective, setup.q, noise, baseline).mean(1)
            gradient, variance = exact_moments(name, setup.objective, setup.q)
            columns = {
                "objective": setup.name,
                "setting": setup.setting,
                "scale": setup.q.scale,
                "estimator": name,
                "parameter": PARAMETERS,
                "gradient": gradient,
                **sample_moments(gradients),
                "exact": without_rounding_errors(variance),
            }
            parts.append(pd.DataFrame(columns))
    rows = pd.concat(parts)
    of_mean = rows[rows["parameter"] == PARAMETERS[0]]
    quantity = "variance of the gradient w.r.t. the mean"
    answers = [
        Answer(quantity, row.estimator, row.variance, row.setting, row.variance_error, row.exact)
        for row in of_mean.itertuples()
    ]
    return {ANSWERS: answers, VARIANCES: rows}


def bias_answers(model: KnownNoiseModel, size: int) -> list[Answer]:
    """Return the mean of eq. 3.77 at the prior over all minibatches, and the exact gradient."""
    means = mean_over_minibatches(model, model.prior, size)
    rows = zip(PARAMETERS, means, model.elbo().gradient(model.prior), strict=True)
    setting = f"{START}, {ALL_MINIBATCHES} of {size}"
    return [
        Answer(f"mean gradient w.r.t. the {parameter}", SCORE, mean, setting, exact=exact)
        for parameter, mean, exact in rows
    ]


def convergence_tables(
    model: KnownNoiseModel, shape: tuple[int, int, int], learning_rate: float, seed: int
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
