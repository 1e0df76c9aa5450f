"""The unknown noise precision of a linear model by all algorithms of chapter 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bnnbench.checks import check_between, check_choice, check_finite, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.random_streams import derive_seed
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.noise_precision.belief import Array, Belief
from bnnbench.suites.inference_toys.noise_precision.exact import (
    exact_posterior,
    factorised_posterior,
)
from bnnbench.suites.inference_toys.noise_precision.message_passing_tables import (
    adf_tables,
    ep_tables,
    power_tables,
)
from bnnbench.suites.inference_toys.noise_precision.model import simulate
from bnnbench.suites.inference_toys.noise_precision.rows import Problem, merge_tables
from bnnbench.suites.inference_toys.noise_precision.stochastic_gradient_tables import (
    advi_tables,
    black_box_vi_tables,
)
from bnnbench.suites.inference_toys.noise_precision.stochastic_gradients import Budget
from bnnbench.suites.inference_toys.noise_precision.tables import cavi_tables, exact_tables
from bnnbench.types import UserError

MAX_ROWS = 1000
"""Maximum number of observations; with more, message passing takes minutes."""

MAX_MAGNITUDE = 1e4
"""Limit of precisions, rates and shapes, for quadrature."""

UNIT = "line"
"""The only unit; all algorithms together take a few seconds."""


@dataclass(frozen=True, kw_only=True)
class NoisePrecision(Experiment):
    """Approximates the posterior of one weight and one noise precision with all algorithms.

    Attributes:
        rows: number of observations, at inputs evenly spaced from -2 to 2.
        weight: true weight.
        noise_precision: true noise precision.
        prior_shape: shape of the Gamma prior of the noise precision, above 1 as (3.52) requires.
        prior_rate: rate of the Gamma prior of the noise precision.
        prior_mean: mean of the Gaussian prior of the weight.
        prior_precision: precision of the Gaussian prior of the weight.
        data_seed: seed of the noise in the data.
        seed: seed of random orders and samples.
        target: `joint`, the posterior; or `factorised`, equation (3.48).
        reading: `corrected` or `printed`; `printed` uses (3.29) and (3.56) as printed.
        orders: number of random orders for ADF and EP.
        passes: maximum number of EP passes.
        inclusions: number of repeated inclusions, for Fig. 3.10.
        powers: powers of power EP and black-box alpha, above 0, at most 1, increasing.
        gradient_steps: number of stochastic gradient steps.
        samples: samples per gradient step.
        learning_rate: initial learning rate; decreases to zero.
    """

    rows: int
    weight: float
    noise_precision: float
    prior_shape: float
    prior_rate: float
    prior_mean: float
    prior_precision: float
    data_seed: int
    seed: int
    target: str
    reading: str
    orders: int
    passes: int
    inclusions: int
    powers: tuple[float, ...]
    gradient_steps: int
    samples: int
    learning_rate: float
    kind: ClassVar[str] = names.KIND
    unit_noun: ClassVar[str] = "data set"
    step_noun: ClassVar[str] = "data sets"

    def check(self) -> None:
        check_choice("target", self.target, (names.JOINT, names.FACTORISED))
        check_choice("reading", self.reading, (names.CORRECTED, names.PRINTED))
        check_int("rows", self.rows, minimum=2)
        if self.rows > MAX_ROWS:
            raise UserError(
                f"rows must be at most {MAX_ROWS}, not {self.rows}.",
                setting="rows",
                code="too_large",
            )
        check_int("seed", self.seed, minimum=0)
        key = "experiment"
        check_int(f"{key}.data_seed", self.data_seed, minimum=0)
        for name in ("orders", "samples", "inclusions"):
            check_int(f"{key}.{name}", getattr(self, name), minimum=2)
        for name in ("passes", "gradient_steps"):
            check_int(f"{key}.{name}", getattr(self, name))
        for name in ("weight", "prior_mean"):
            check_finite(f"{key}.{name}", getattr(self, name))
            check_between(f"{key}.{name}", getattr(self, name), -MAX_MAGNITUDE, MAX_MAGNITUDE)
        for name in ("noise_precision", "prior_rate", "prior_precision"):
            check_between(f"{key}.{name}", getattr(self, name), 0, MAX_MAGNITUDE)
        check_between(f"{key}.prior_shape", self.prior_shape, 1, MAX_MAGNITUDE)
        check_between(f"{key}.learning_rate", self.learning_rate, 0, 1)
        self._check_powers()

    def _check_powers(self) -> None:
        powers = self.powers
        numbers = isinstance(powers, tuple) and all(type(p) in (int, float) for p in powers)
        if not numbers or not powers or list(powers) != sorted({*powers}):
            raise UserError(
                f"experiment.powers must be a list of increasing numbers, not {powers!r}.",
                setting="experiment.powers",
                code="not_increasing",
            )
        if not 0 < powers[0] <= powers[-1] <= 1:
            raise UserError(
                f"experiment.powers must be above 0 and at most 1, not {list(powers)}.",
                setting="experiment.powers",
                code="out_of_range",
            )

    @property
    def title(self) -> str:
        return f"noise precision, {self.rows} observations"

    def units(self) -> tuple[str, ...]:
        return (UNIT,)

    def path_parts(self) -> tuple[str, ...]:
        return (self.target, self.reading, f"rows{self.rows}-seed{self.seed}")

    def metadata(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "reading": self.reading,
            "rows": self.rows,
            "seed": self.seed,
        }

    def run(self, unit: str, store: UnitStore) -> None:
        """Run all algorithms and save their tables."""
        problem, orders = self.problem(), self.all_orders()
        tables = [exact_tables(problem)]
        if problem.with_weight:
            tables.append(cavi_tables(problem))
        tables.append(adf_tables(problem, orders, self.noise_precision, self.inclusions))
        tables.append(ep_tables(problem, orders, self.passes))
        if problem.with_weight:
            tables.append(power_tables(problem, self.powers, self.passes))
            tables.append(advi_tables(problem, self.budget("advi")))
            tables.append(black_box_vi_tables(problem, self.budget("black-box")))
        store.save(unit, merge_tables(tables), {})

    def problem(self) -> Problem:
        """Return data, prior and exact posteriors."""
        prior = Belief(self.prior_shape, self.prior_rate, self.prior_mean, 1 / self.prior_precision)
        model = simulate(self.rows, self.weight, self.noise_precision, self.data_seed, prior)
        exact, joint = exact_posterior(model), self.target == names.JOINT
        target = exact if joint else factorised_posterior(model)
        return Problem(model, exact, target, joint, self.reading)

    def all_orders(self) -> Array:
        """Return the order of the data and random orders, `[1 + orders, N]`."""
        random = np.random.default_rng(self.seed)
        data_order = np.arange(self.rows)
        return np.stack([data_order, *(random.permutation(data_order) for _ in range(self.orders))])

    def budget(self, algorithm: str) -> Budget:
        """Return the settings of one stochastic gradient algorithm."""
        seed = derive_seed(self.seed, algorithm)
        return Budget(self.gradient_steps, self.samples, self.learning_rate, seed)
