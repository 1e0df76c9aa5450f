"""The clutter problem as an experiment: a unit per number of observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from bnnbench.checks import check_between, check_finite, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.identity import no_identity
from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.clutter.expectation_propagation import expectation_propagation
from bnnbench.suites.inference_toys.clutter.findings import (
    Found,
    answers,
    order_rows,
    power_rows,
    progress_rows,
)
from bnnbench.suites.inference_toys.clutter.importance_sampling import importance_sampling
from bnnbench.suites.inference_toys.clutter.laplace import laplace
from bnnbench.suites.inference_toys.clutter.model import Clutter, exact_posterior, simulate
from bnnbench.suites.inference_toys.clutter.variational import nearest_gaussian, variational_bayes
from bnnbench.types import UserError

MOST = 2000
"""Observations, so that the quadrature fits into memory."""


@dataclass(frozen=True, kw_only=True)
class ClutterExperiment(Experiment):
    """Approximates the mean behind clutter in six ways and counts what each one costs.

    Attributes:
        theta: the mean that made the data.
        clutter_weight: the share of clutter.
        clutter_variance: of clutter.
        prior_variance: of the mean, about zero.
        data_seed: of the observations.
        seed: of random orders and importance samples.
        orders: random orders of ADF and EP.
        passes: of EP, and steps of the other iterations, at most.
        tolerance: below which an iteration has settled, relative to what exceeds 1.
        powers: of power EP; 1 is EP.
        draws: of importance sampling, rising.
        repetitions: of importance sampling.
        sizes: numbers of observations, a unit each.
    """

    theta: float
    clutter_weight: float
    clutter_variance: float
    prior_variance: float
    data_seed: int
    seed: int
    orders: int
    passes: int
    tolerance: float
    powers: tuple[float, ...]
    draws: tuple[int, ...]
    repetitions: int
    sizes: tuple[int, ...] = no_identity()
    kind: ClassVar[str] = names.KIND
    unit_noun: ClassVar[str] = "data set"
    step_noun: ClassVar[str] = "data sets"

    def check(self) -> None:
        """Raises `UserError` if a setting makes no problem or nothing to compare."""
        key = "experiment"
        for name in ("orders", "repetitions"):
            check_int(f"{key}.{name}", getattr(self, name), least=2)
        check_int(f"{key}.passes", self.passes, least=2)
        check_int(f"{key}.data_seed", self.data_seed, least=0)
        check_int("seed", self.seed, least=0)
        check_finite(f"{key}.theta", self.theta)
        check_between(f"{key}.clutter_weight", self.clutter_weight, 0, 1)
        check_between(f"{key}.clutter_variance", self.clutter_variance, 0, 1e6)
        check_between(f"{key}.prior_variance", self.prior_variance, 0, 1e4)
        check_between(f"{key}.tolerance", self.tolerance, 0, 1)
        for name in ("sizes", "draws", "powers"):
            if not isinstance(getattr(self, name), tuple) or not getattr(self, name):
                raise UserError(
                    f"{key}.{name} must be a list of numbers, not {getattr(self, name)!r}."
                )
        for power in self.powers:
            check_between(f"{key}.powers", power, 0, 10)
        for name in ("sizes", "draws"):
            self._check_rising(name)
        if self.sizes[-1] > MOST:
            raise UserError(f"{key}.sizes must be at most {MOST}, not {self.sizes[-1]}.")

    def _check_rising(self, name: str) -> None:
        values = getattr(self, name)
        for value in values:
            check_int(f"experiment.{name}", value)
        if any(a >= b for a, b in pairwise(values)):
            raise UserError(f"experiment.{name} must rise, not {list(values)}.")

    @property
    def title(self) -> str:
        return "the clutter problem"

    def units(self) -> tuple[str, ...]:
        return tuple(f"observations-{size}" for size in self.sizes)

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """All in one: another process takes longer to start than they take."""
        return (tuple(units),)

    def place(self) -> tuple[str, ...]:
        return (f"theta{self.theta:g}-data{self.data_seed}-seed{self.seed}",)

    def names(self) -> dict[str, Any]:
        return {"theta": self.theta, "data_seed": self.data_seed, "seed": self.seed}

    def run(self, unit: str, store: UnitStore) -> None:
        """Saves answers, progress, orders, powers, exact density and points of one data set."""
        size = int(unit.removeprefix("observations-"))
        settings = (self.theta, self.clutter_weight, self.clutter_variance, self.data_seed)
        observations, is_clutter = simulate(size, *settings)
        model = Clutter(
            observations, self.clutter_weight, self.clutter_variance, self.prior_variance
        )
        found = self.approximate(model)
        density = zip(found.exact.theta.tolist(), found.exact.density.tolist(), strict=True)
        points = zip(observations.tolist(), is_clutter.tolist(), strict=True)
        label = {"observations": size}
        tables = {
            ANSWERS: [answer.row() for answer in answers(found, size)],
            names.PROGRESS: progress_rows(found, size),
            names.ORDERS: order_rows(found, size),
            names.POWERS: power_rows(found, size),
            names.DENSITY: [{**label, "theta": t, "density": d} for t, d in density],
            names.POINTS: [{**label, "value": x, "clutter": int(c)} for x, c in points],
        }
        store.save(unit, tables, {})

    def approximate(self, model: Clutter) -> Found:
        """Runs every algorithm on one data set."""
        size = len(model.observations)
        own = np.arange(size)[None]
        random = np.random.default_rng([self.seed, size])
        orders = random.permuted(np.tile(own, (self.orders, 1)), axis=1)
        bayes = variational_bayes(model, self.passes, self.tolerance)
        sampled, sample_sizes = importance_sampling(
            model,
            self.draws,
            (np.random.default_rng([self.seed, size, k]) for k in range(self.repetitions)),
        )
        settings = (self.passes, self.tolerance)
        return Found(
            exact_posterior(model),
            expectation_propagation(model, own, *settings),
            expectation_propagation(model, orders, *settings),
            {p: expectation_propagation(model, own, *settings, p) for p in self.powers},
            bayes,
            nearest_gaussian(model, bayes.mean[-1, 0], bayes.scale[-1, 0]),
            laplace(model, self.passes, self.tolerance),
            sampled,
            sample_sizes,
        )
