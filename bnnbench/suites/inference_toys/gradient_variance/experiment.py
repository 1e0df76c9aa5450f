"""Score-function and pathwise gradients: variance, bias and convergence.

Book, sections 3.2.4.1 and 3.2.4.2 and Appendix A.1. The book prints no numbers; the functions and
settings are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar

from bnnbench.constraints import Between, Finite, ListOf, Whole
from bnnbench.experiment.table_experiment import TableExperiment, Tables
from bnnbench.random_streams import derive_seed
from bnnbench.suites.inference_toys.gradient_variance import tables
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    Cosine,
    LinearModel,
    Normal,
    Objective,
    squared_distance,
)
from bnnbench.suites.inference_toys.gradient_variance.tables import Setup
from bnnbench.suites.inference_toys.maths import simulate_line
from bnnbench.types import UserError

MAX_MINIBATCHES = 20_000
"""Maximum number of enumerated minibatches; each needs a quadrature."""

MAX_SAMPLED_VALUES = 10**7
"""Maximum number of values sampled at once: 80 MB, and a few times that for derived arrays."""

Positive = Annotated[float, Between(0)]
Numbers = Annotated[tuple[int, ...], ListOf(Whole())]


@dataclass(frozen=True, kw_only=True)
class GradientVariance(TableExperiment):
    """Estimates gradients of `E_q[f]` for a quadratic, a cosine and the ELBO of one weight.

    See `configs/experiment` for the settings; `seed` is that of the samples.
    """

    seed: Annotated[int, Whole(0)]
    draws: Annotated[int, Whole(100)]
    scales: Annotated[tuple[float, ...], ListOf(Between(0))]
    samples: Numbers
    target: Annotated[float, Finite()]
    frequency: Annotated[float, Between(0, 50)]
    rows: Annotated[int, Whole(2)]
    weight: Annotated[float, Finite()]
    noise_precision: Positive
    prior_precision: Positive
    data_seed: Annotated[int, Whole(0)]
    minibatch: Annotated[int, Whole()]
    latents: Numbers
    ascent_steps: Annotated[int, Whole()]
    samples_per_step: Annotated[int, Whole(2)]
    learning_rate: Positive
    repetitions: Annotated[int, Whole(2)]
    kind: ClassVar[str] = "gradient_variance"
    name: ClassVar[str] = "gradient variance"
    unit_noun: ClassVar[str] = "part"
    columns: ClassVar[tuple[str, ...]] = ("draws", "seed")

    def check(self) -> None:
        """Raise `UserError` if a setting is invalid or would need too much memory or time."""
        super().check()
        if not 0 < math.comb(self.rows, self.minibatch) <= MAX_MINIBATCHES:
            raise UserError(
                f"experiment.minibatch={self.minibatch} must give 1 to {MAX_MINIBATCHES} different "
                f"minibatches of the experiment.rows={self.rows} rows.",
                setting="experiment.minibatch",
                code="cannot_enumerate",
            )
        largest = self.draws * max(*self.samples, *self.latents, self.rows)
        if max(largest, self.repetitions * self.samples_per_step) > MAX_SAMPLED_VALUES:
            raise UserError(
                f"experiment.draws={self.draws} with these samples, latents, rows and repetitions "
                f"would sample more than {MAX_SAMPLED_VALUES:.0e} values at once; use fewer.",
                setting="experiment.draws",
                code="too_many",
            )

    @property
    def model(self) -> LinearModel:
        """The regression model with its data."""
        data = simulate_line(self.rows, self.weight, self.noise_precision, self.data_seed)
        return LinearModel(*data, self.noise_precision, self.prior_precision)

    def setups(self) -> Iterator[Setup]:
        """Yield the setups in which variances are measured."""
        functions: dict[str, Objective] = {
            tables.QUADRATIC: squared_distance(self.target),
            tables.COSINE: Cosine(self.frequency),
        }
        for scale, (name, function) in product(self.scales, functions.items()):
            yield Setup(name, f"{name}, std {scale:.3g}", function, Normal(0.0, scale), 1)
        model, elbo = self.model, self.model.elbo()
        for samples in self.samples:
            setting = f"{tables.START}, {samples} sample{'s' if samples > 1 else ''}"
            yield Setup(tables.START, setting, elbo, model.prior, samples)
        yield Setup(tables.OPTIMUM, f"{tables.OPTIMUM}, 1 sample", elbo, model.posterior, 1)

    def cases(self) -> Mapping[str, str]:
        names = (tables.VARIANCES, tables.BIAS, tables.LATENTS, tables.CONVERGENCE)
        return {name: name for name in names}

    def tables(self, case: str) -> Tables:
        """Compute the answers and the table of one part."""
        seed = derive_seed(self.seed, case)
        if case == tables.VARIANCES:
            return tables.variance_tables(self.setups(), self.draws, seed)
        if case == tables.BIAS:
            return tables.bias_tables(self.model, self.minibatch, self.draws, seed)
        if case == tables.LATENTS:
            term, q = squared_distance(self.target), Normal(0.0, 1.0)
            return tables.latent_tables(term, q, self.latents, self.draws, seed)
        shape = (self.ascent_steps, self.repetitions, self.samples_per_step)
        return tables.convergence_tables(self.model, shape, self.learning_rate, seed)
