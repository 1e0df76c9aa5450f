"""The unknown noise precision of a line by every algorithm of chapter 3, as an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bnnbench.checks import check_between, check_choice, check_finite, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.random_streams import derive_seed
from bnnbench.suites.inference_toys.noise_precision import tables as words
from bnnbench.suites.inference_toys.noise_precision.belief import Array, Belief
from bnnbench.suites.inference_toys.noise_precision.black_boxes import Budget
from bnnbench.suites.inference_toys.noise_precision.exact import factorised_posterior, posterior
from bnnbench.suites.inference_toys.noise_precision.findings import ascent_tables, exact_tables
from bnnbench.suites.inference_toys.noise_precision.model import simulate
from bnnbench.suites.inference_toys.noise_precision.passing_findings import (
    filter_tables,
    power_tables,
    propagation_tables,
)
from bnnbench.suites.inference_toys.noise_precision.rows import Scene, merged
from bnnbench.suites.inference_toys.noise_precision.sampled_findings import (
    pathwise_tables,
    score_tables,
)
from bnnbench.types import UserError

MOST = 1000
"""Observations: beyond, message passing takes minutes."""

LARGEST = 1e4
"""Of precisions, rates and shapes, so that quadrature has something to hold on to."""

UNIT = "line"
"""The only one: together the algorithms take seconds, and a process of its own takes as long."""


@dataclass(frozen=True, kw_only=True)
class NoisePrecision(Experiment):
    """One weight, one noise precision, every approximation, and quadrature beside them.

    Attributes:
        rows: observations, at inputs evenly spaced from -2 to 2.
        weight: the true slope.
        noise_precision: the true one.
        prior_shape: of the noise precision's Gamma, above 1 as (3.52) needs.
        prior_rate: of the same.
        prior_mean: of the weight's Gaussian.
        prior_precision: of the same.
        data_seed: of the noise in the data.
        seed: of random orders and of samples.
        target: `joint`, the posterior; or `factorised`, what (3.48) prints.
        reading: `corrected`; or `printed`, CAVI, ADF and EP by (3.29) and (3.56) letter by letter.
        orders: random orders of the data, for ADF and EP.
        passes: of EP at most.
        times: how often factors are included again, for Fig. 3.10.
        powers: of the factors in power EP and black-box alpha, above 0 to 1, rising.
        gradient_steps: of black boxes.
        samples: per step.
        learning_rate: of the first step; falls to nothing.
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
    times: int
    powers: tuple[float, ...]
    gradient_steps: int
    samples: int
    learning_rate: float
    kind: ClassVar[str] = words.KIND
    unit_noun: ClassVar[str] = "line"
    step_noun: ClassVar[str] = "lines"

    def check(self) -> None:
        check_choice("target", self.target, (words.JOINT, words.FACTORISED))
        check_choice("reading", self.reading, (words.CORRECTED, words.PRINTED))
        check_int("rows", self.rows, least=2)
        if self.rows > MOST:
            raise UserError(f"rows must be at most {MOST}, not {self.rows}.")
        check_int("seed", self.seed, least=0)
        key = "experiment"
        check_int(f"{key}.data_seed", self.data_seed, least=0)
        for name in ("orders", "samples", "times"):
            check_int(f"{key}.{name}", getattr(self, name), least=2)
        for name in ("passes", "gradient_steps"):
            check_int(f"{key}.{name}", getattr(self, name))
        for name in ("weight", "prior_mean"):
            check_finite(f"{key}.{name}", getattr(self, name))
            check_between(f"{key}.{name}", getattr(self, name), -LARGEST, LARGEST)
        for name in ("noise_precision", "prior_rate", "prior_precision"):
            check_between(f"{key}.{name}", getattr(self, name), 0, LARGEST)
        check_between(f"{key}.prior_shape", self.prior_shape, 1, LARGEST)
        check_between(f"{key}.learning_rate", self.learning_rate, 0, 1)
        self._check_powers()

    def _check_powers(self) -> None:
        powers = self.powers
        numbers = isinstance(powers, tuple) and all(type(p) in (int, float) for p in powers)
        if not numbers or not powers or list(powers) != sorted({*powers}):
            raise UserError(f"experiment.powers must be rising numbers, not {powers!r}.")
        if not 0 < powers[0] <= powers[-1] <= 1:
            raise UserError(
                f"experiment.powers must lie above 0 and not above 1, not {list(powers)}."
            )

    @property
    def title(self) -> str:
        return f"noise precision, {self.rows} observations"

    def units(self) -> tuple[str, ...]:
        return (UNIT,)

    def place(self) -> tuple[str, ...]:
        return (self.target, self.reading, f"rows{self.rows}-seed{self.seed}")

    def names(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "reading": self.reading,
            "rows": self.rows,
            "seed": self.seed,
        }

    def run(self, unit: str, store: UnitStore) -> None:
        """Saves what every algorithm left: answers, densities, its way."""
        scene, orders = self.scene(), self.all_orders()
        parts = [exact_tables(scene)]
        if scene.with_weight:
            parts.append(ascent_tables(scene))
        parts.append(filter_tables(scene, orders, self.noise_precision, self.times))
        parts.append(propagation_tables(scene, orders, self.passes))
        if scene.with_weight:
            parts.append(power_tables(scene, self.powers, self.passes))
            parts.append(pathwise_tables(scene, self.budget("advi")))
            parts.append(score_tables(scene, self.budget("black-box")))
        store.save(unit, merged(parts), {})

    def scene(self) -> Scene:
        """Data, prior and exact answers."""
        prior = Belief(self.prior_shape, self.prior_rate, self.prior_mean, 1 / self.prior_precision)
        line = simulate(self.rows, self.weight, self.noise_precision, self.data_seed, prior)
        exact, joint = posterior(line), self.target == words.JOINT
        target = exact if joint else factorised_posterior(line)
        return Scene(line, exact, target, joint, self.reading)

    def all_orders(self) -> Array:
        """The order of the data, then random ones, `[1 + orders, N]`."""
        random = np.random.default_rng(self.seed)
        own = np.arange(self.rows)
        return np.stack([own, *(random.permutation(own) for _ in range(self.orders))])

    def budget(self, algorithm: str) -> Budget:
        """Of the stochastic gradients of one algorithm."""
        seed = derive_seed(self.seed, algorithm)
        return Budget(self.gradient_steps, self.samples, self.learning_rate, seed)
