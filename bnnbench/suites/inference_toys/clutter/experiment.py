"""The clutter problem as an experiment with one unit per number of observations."""

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
from bnnbench.suites.inference_toys.clutter.importance_sampling import importance_sampling
from bnnbench.suites.inference_toys.clutter.laplace import laplace
from bnnbench.suites.inference_toys.clutter.model import ClutterModel, exact_posterior, simulate
from bnnbench.suites.inference_toys.clutter.tables import (
    Approximations,
    answers,
    order_rows,
    power_rows,
    progress_rows,
)
from bnnbench.suites.inference_toys.clutter.variational import gaussian_vi, variational_bayes
from bnnbench.types import UserError

MAX_OBSERVATIONS = 2000
"""Limits the memory of the quadrature."""


@dataclass(frozen=True, kw_only=True)
class ClutterExperiment(Experiment):
    """Approximates the posterior mean of a signal among clutter with six algorithms.

    Attributes:
        theta: true mean of the signal.
        clutter_weight: probability of clutter.
        clutter_variance: variance of the clutter.
        prior_variance: prior variance of the mean, whose prior mean is zero.
        data_seed: seed of the observations.
        seed: seed of the random orders and importance samples.
        orders: number of random orders for ADF and EP.
        passes: maximum number of EP passes, and of steps of the other iterative algorithms.
        tolerance: change below which an iteration has converged, relative to values above 1.
        powers: powers of power EP; 1 is EP.
        draws: increasing numbers of draws for importance sampling.
        repetitions: repetitions of importance sampling.
        sizes: numbers of observations, one unit each.
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
        """Raise `UserError` if a setting is invalid."""
        key = "experiment"
        for name in ("orders", "repetitions"):
            check_int(f"{key}.{name}", getattr(self, name), minimum=2)
        check_int(f"{key}.passes", self.passes, minimum=2)
        check_int(f"{key}.data_seed", self.data_seed, minimum=0)
        check_int("seed", self.seed, minimum=0)
        check_finite(f"{key}.theta", self.theta)
        check_between(f"{key}.clutter_weight", self.clutter_weight, 0, 1)
        check_between(f"{key}.clutter_variance", self.clutter_variance, 0, 1e6)
        check_between(f"{key}.prior_variance", self.prior_variance, 0, 1e4)
        check_between(f"{key}.tolerance", self.tolerance, 0, 1)
        for name in ("sizes", "draws", "powers"):
            if not isinstance(getattr(self, name), tuple) or not getattr(self, name):
                raise UserError(
                    f"{key}.{name} must be a non-empty list of numbers, "
                    f"not {getattr(self, name)!r}.",
                    setting=f"{key}.{name}",
                    code="not_a_list",
                )
        for power in self.powers:
            check_between(f"{key}.powers", power, 0, 10)
        for name in ("sizes", "draws"):
            self._check_increasing(name)
        if self.sizes[-1] > MAX_OBSERVATIONS:
            raise UserError(
                f"{key}.sizes must be at most {MAX_OBSERVATIONS}, not {self.sizes[-1]}.",
                setting=f"{key}.sizes",
                code="too_large",
            )

    def _check_increasing(self, name: str) -> None:
        values = getattr(self, name)
        for value in values:
            check_int(f"experiment.{name}", value)
        if any(a >= b for a, b in pairwise(values)):
            raise UserError(
                f"experiment.{name} must be increasing, not {list(values)}.",
                setting=f"experiment.{name}",
                code="not_increasing",
            )

    @property
    def title(self) -> str:
        return "the clutter problem"

    def units(self) -> tuple[str, ...]:
        return tuple(f"observations-{size}" for size in self.sizes)

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return one group, because starting a process takes longer than all units together."""
        return (tuple(units),)

    def path_parts(self) -> tuple[str, ...]:
        return (f"theta{self.theta:g}-data{self.data_seed}-seed{self.seed}",)

    def metadata(self) -> dict[str, Any]:
        return {"theta": self.theta, "data_seed": self.data_seed, "seed": self.seed}

    def run(self, unit: str, store: UnitStore) -> None:
        """Approximate the posterior of one data set and save the tables."""
        size = int(unit.removeprefix("observations-"))
        settings = (self.theta, self.clutter_weight, self.clutter_variance, self.data_seed)
        observations, is_clutter = simulate(size, *settings)
        model = ClutterModel(
            observations, self.clutter_weight, self.clutter_variance, self.prior_variance
        )
        approximations = self.approximate(model)
        exact = approximations.exact
        density = zip(exact.theta.tolist(), exact.density.tolist(), strict=True)
        points = zip(observations.tolist(), is_clutter.tolist(), strict=True)
        label = {"observations": size}
        tables = {
            ANSWERS: [answer.row() for answer in answers(approximations, size)],
            names.PROGRESS: progress_rows(approximations, size),
            names.ORDERS: order_rows(approximations.ep_random_orders, size),
            names.POWERS: power_rows(approximations.power_ep, size),
            names.DENSITY: [{**label, "theta": t, "density": d} for t, d in density],
            names.POINTS: [{**label, "value": x, "clutter": int(c)} for x, c in points],
        }
        store.save(unit, tables, {})

    def approximate(self, model: ClutterModel) -> Approximations:
        """Run every algorithm on one data set."""
        size = len(model.observations)
        data_order = np.arange(size)[None]
        random = np.random.default_rng([self.seed, size])
        orders = random.permuted(np.tile(data_order, (self.orders, 1)), axis=1)
        vb = variational_bayes(model, self.passes, self.tolerance)
        importance, sample_sizes = importance_sampling(
            model,
            self.draws,
            (np.random.default_rng([self.seed, size, k]) for k in range(self.repetitions)),
        )
        settings = (self.passes, self.tolerance)
        return Approximations(
            exact_posterior(model),
            expectation_propagation(model, data_order, *settings),
            expectation_propagation(model, orders, *settings),
            {p: expectation_propagation(model, data_order, *settings, p) for p in self.powers},
            vb,
            gaussian_vi(model, vb.mean[-1, 0], vb.scale[-1, 0]),
            laplace(model, self.passes, self.tolerance),
            importance,
            sample_sizes,
        )
