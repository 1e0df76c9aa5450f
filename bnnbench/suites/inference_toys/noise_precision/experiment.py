"""The unknown noise precision of a linear model by all algorithms of chapter 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.table_experiment import TableExperiment, Tables
from bnnbench.random_streams import derive_seed
from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.maths import Array, simulate_line
from bnnbench.suites.inference_toys.noise_precision import fits, tables
from bnnbench.suites.inference_toys.noise_precision.exact import exact_posterior
from bnnbench.suites.inference_toys.noise_precision.families import Belief
from bnnbench.suites.inference_toys.noise_precision.message_passing import (
    include_repeatedly,
    tied_std_of_weight,
)
from bnnbench.suites.inference_toys.noise_precision.model import LinearModel
from bnnbench.suites.inference_toys.noise_precision.stochastic_gradients import (
    Budget,
    advi,
    black_box_vi,
)
from bnnbench.suites.inference_toys.noise_precision.tables import Fit, Problem

MAX_ROWS = 1000
"""Maximum number of observations; with more, message passing takes minutes."""

MAX_SIZE = 10**6
"""Maximum number of observations with known noise precision."""

MAX_MAGNITUDE = 1e4
"""Limit of precisions, rates and shapes, for quadrature."""

TIED_POWER = 0.5
"""Power of black-box alpha with known noise precision: alpha = 0."""

Real = Annotated[float, Between(-MAX_MAGNITUDE, MAX_MAGNITUDE)]
Positive = Annotated[float, Between(0, MAX_MAGNITUDE)]


@dataclass(frozen=True, kw_only=True)
class NoisePrecision(TableExperiment):
    """Approximates the posterior of one weight and one noise precision with all algorithms.

    See `configs/experiment` for the settings; `seed` is that of the random orders and samples.
    """

    rows: Annotated[int, Whole(2, MAX_ROWS)]
    weight: Real
    noise_precision: Positive
    prior_shape: Annotated[float, Between(1, MAX_MAGNITUDE)]
    prior_rate: Positive
    prior_mean: Real
    prior_precision: Positive
    data_seed: Annotated[int, Whole(0)]
    seed: Annotated[int, Whole(0)]
    orders: Annotated[int, Whole(2)]
    passes: Annotated[int, Whole()]
    inclusions: Annotated[int, Whole(2)]
    powers: Annotated[
        tuple[float, ...], ListOf(Between(0, 1, high_included=True), order="increasing")
    ]
    sizes: Annotated[tuple[int, ...], ListOf(Whole(2, MAX_SIZE), order="increasing")]
    gradient_steps: Annotated[int, Whole()]
    samples: Annotated[int, Whole(2)]
    learning_rate: Annotated[float, Between(0, 1)]
    kind: ClassVar[str] = "noise_precision"
    name: ClassVar[str] = "noise precision"
    unit_noun: ClassVar[str] = "data set"
    folder_settings: ClassVar[tuple[str, ...]] = ("rows", "seed")
    top_level: ClassVar[tuple[str, ...]] = ("rows", "seed")

    def cases(self) -> Mapping[str, None]:
        """Return the only unit; all algorithms together take a few seconds."""
        return {"line": None}

    def tables(self, case: None) -> Tables:
        """Run all algorithms."""
        model = self.model(self.rows)
        problem, orders = Problem(model, exact_posterior(model)), self.all_orders()
        powers = fits.power_fits(problem, self.powers, self.passes)
        results = [
            *fits.cavi_fits(problem),
            *fits.adf_fits(problem, orders, self.inclusions),
            *fits.ep_fits(problem, orders, self.passes),
            *powers.get(fits.ANSWER_POWER, []),
            *self.gradient_fits(problem),
        ]
        exact = Fit(tables.EXACT, "", problem.posterior)
        saved = {
            ANSWERS: tables.answers(problem, results),
            **tables.fit_tables(problem, [exact, *results]),
            tables.POWERS: fits.power_table(powers),
            tables.SIZES: pd.DataFrame(self.known_noise_rows()),
            tables.POINTS: pd.DataFrame({"input": model.inputs, "target": model.targets}),
        }
        inclusions = np.arange(1, self.inclusions + 1)
        q = include_repeatedly(model, self.noise_precision, 0, inclusions)
        single = tables.repeated_inclusions(tables.ONE_FACTOR, q.weight_mean, q.weight_std)
        saved[tables.REPEATED] = pd.concat([single, saved[tables.REPEATED]])
        return saved

    def known_noise_rows(self) -> Iterator[dict[str, float]]:
        """Yield the rows of `sizes.csv`."""
        for size in self.sizes:
            values = tied_std_of_weight(self.model(size), self.noise_precision, TIED_POWER)
            columns = ("observations", "power", "weight_std", "exact")
            yield dict(zip(columns, (size, TIED_POWER, *values), strict=True))

    def gradient_fits(self, problem: Problem) -> Iterator[Fit]:
        """Yield ADVI with both families, and black-box VI."""
        model = problem.model
        for setting in (tables.MEAN_FIELD, tables.FULL):
            log_normals = advi(model, self.budget("advi"), setting == tables.FULL)
            yield fits.trajectory_fit(problem, tables.ADVI, setting, log_normals)
        beliefs = black_box_vi(model, self.budget("black-box"))
        yield fits.trajectory_fit(problem, tables.BLACK_BOX_VI, "", beliefs)

    def model(self, rows: int) -> LinearModel:
        """Return this number of observations, and the prior."""
        moments = (self.prior_mean, 1 / self.prior_precision)
        prior = Belief(self.prior_shape, self.prior_rate, *moments)
        data = simulate_line(rows, self.weight, self.noise_precision, self.data_seed)
        return LinearModel(*data, prior)

    def all_orders(self) -> Array:
        """Return the order of the data and random orders, `[1 + orders, N]`."""
        random = np.random.default_rng(self.seed)
        data_order = np.arange(self.rows)
        return np.stack([data_order, *(random.permutation(data_order) for _ in range(self.orders))])

    def budget(self, algorithm: str) -> Budget:
        """Return the settings of one stochastic gradient algorithm."""
        seed = derive_seed(self.seed, algorithm)
        return Budget(self.gradient_steps, self.samples, self.learning_rate, seed)
