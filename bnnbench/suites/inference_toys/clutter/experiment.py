"""The clutter problem as an experiment with one unit per number of observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from bnnbench.constraints import Between, Finite, ListOf, Whole
from bnnbench.experiment.table_experiment import TableExperiment, Tables
from bnnbench.identity import no_identity
from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.clutter import baselines, tables
from bnnbench.suites.inference_toys.clutter.message_passing import expectation_propagation
from bnnbench.suites.inference_toys.clutter.model import ClutterModel, exact_posterior, simulate
from bnnbench.suites.inference_toys.maths import Array

MAX_OBSERVATIONS = 2000
"""Limits the memory of the quadrature."""

ORDERS_PER_DATA_SET = 10
"""Number of random orders of EP for each simulated data set."""


@dataclass(frozen=True, kw_only=True)
class ClutterExperiment(TableExperiment):
    """Approximates the posterior mean of a signal among clutter with six algorithms.

    See `configs/experiment` for the settings; `seed` is that of random orders and samples.
    """

    theta: Annotated[float, Finite()]
    clutter_weight: Annotated[float, Between(0, 1)]
    clutter_variance: Annotated[float, Between(0, 1e6)]
    prior_variance: Annotated[float, Between(0, 1e4)]
    data_seed: Annotated[int, Whole(0)]
    seed: Annotated[int, Whole(0)]
    orders: Annotated[int, Whole(2)]
    passes: Annotated[int, Whole(2)]
    tolerance: Annotated[float, Between(0, 1)]
    powers: Annotated[tuple[float, ...], ListOf(Between(0, 10))]
    draws: Annotated[tuple[int, ...], ListOf(Whole(), order="increasing")]
    repetitions: Annotated[int, Whole(2)]
    data_sets: Annotated[int, Whole(2)]
    sizes: Annotated[
        tuple[int, ...], ListOf(Whole(maximum=MAX_OBSERVATIONS), order="increasing")
    ] = no_identity()
    kind: ClassVar[str] = "clutter"
    name: ClassVar[str] = "the clutter problem"
    unit_noun: ClassVar[str] = "data set"
    folder_settings: ClassVar[tuple[str, ...]] = ("theta", "data_seed", "seed")
    one_process: ClassVar[bool] = True

    def cases(self) -> Mapping[str, int]:
        return {f"observations-{size}": size for size in self.sizes}

    def tables(self, case: int) -> Tables:
        """Approximate the posterior of `case` observations with every algorithm."""
        data = (self.theta, self.clutter_weight, self.clutter_variance, self.data_seed)
        observations, is_clutter = simulate(case, *data)
        model = self.model(observations)
        exact, limits = exact_posterior(model), (self.passes, self.tolerance)
        data_order = np.arange(case)[None]
        random = np.random.default_rng([self.seed, case])
        orders = random.permuted(np.tile(data_order, (self.orders, 1)), axis=1)
        ep = expectation_propagation(model, data_order, *limits)
        random_orders = expectation_propagation(model, orders, *limits)
        powers = {p: expectation_propagation(model, data_order, *limits, p) for p in self.powers}
        randoms = (np.random.default_rng([self.seed, case, k]) for k in range(self.repetitions))
        importance, sample_sizes = baselines.importance_sampling(model, self.draws, randoms)
        steps = {
            tables.EP: random_orders.estimates[1:],
            tables.VB: baselines.variational_bayes(model, *limits),
            tables.LAPLACE: baselines.laplace(model, *limits),
            tables.IMPORTANCE: importance,
        }
        vi = baselines.gaussian_vi(model, *steps[tables.VB][-1, :2, 0])[-1]
        frames = {
            tables.PROGRESS: tables.progress_table(steps, self.draws, case, exact),
            tables.ORDERS: tables.order_table(random_orders),
            tables.POWERS: tables.power_table(powers),
            tables.DENSITY: pd.DataFrame({"theta": exact.theta, "density": exact.density}),
            tables.POINTS: pd.DataFrame({"value": observations, "clutter": is_clutter.astype(int)}),
            tables.DATA_SETS: pd.DataFrame(self.data_set_rows(case)),
        }
        for frame in frames.values():
            frame.insert(0, "observations", case)
        return {ANSWERS: tables.answers(ep, steps, vi, sample_sizes[-1], exact), **frames}

    def model(self, observations: Array) -> ClutterModel:
        """Return the model of these observations, `[N]`."""
        variances = (self.clutter_variance, self.prior_variance)
        return ClutterModel(observations, self.clutter_weight, *variances)

    def data_set_rows(self, size: int) -> Iterator[dict[str, float]]:
        """Yield the row of each data set of this many observations."""
        for data_seed in range(self.data_seed, self.data_seed + self.data_sets):
            data = (self.theta, self.clutter_weight, self.clutter_variance, data_seed)
            model = self.model(simulate(size, *data)[0])
            orders = np.tile(np.arange(size), (1 + ORDERS_PER_DATA_SET, 1))
            random = np.random.default_rng([self.seed, size, data_seed])
            orders[1:] = random.permuted(orders[1:], axis=1)
            result = expectation_propagation(model, orders, self.passes, self.tolerance)
            means, converged = result.estimates[-1, 0], np.isfinite(result.passes)
            same = converged & (np.abs(means - means[0]) <= tables.FIXED_POINT_TOLERANCE)
            yield {
                "data_seed": data_seed,
                "exact": exact_posterior(model).scale,
                "adf": result.estimates[1, 1, 0],
                "ep": result.estimates[-1, 1, 0] if converged[0] else np.nan,
                "deviating_orders": (~same).sum(),
            }
