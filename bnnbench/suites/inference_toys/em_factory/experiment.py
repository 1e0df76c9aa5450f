"""Expectation maximisation for the factory as an experiment with one unit per random start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bnnbench.checks import check_between, check_choice, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.identity import no_identity
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.em_factory import names
from bnnbench.suites.inference_toys.em_factory.algorithm import Trajectory, convergence_rate, run_em
from bnnbench.suites.inference_toys.em_factory.model import (
    Factory,
    Parameters,
    closed_form,
    log_likelihood,
    maximise_numerically,
    missing_information_fraction,
    simulate,
)
from bnnbench.types import UserError

MAX_PRODUCTS = 1000
"""Limits the size of the dense information matrix."""


@dataclass(frozen=True, kw_only=True)
class EMFactory(Experiment):
    """Maximises the likelihood of counts, two of which are missing, from random starts.

    Attributes:
        products: number of products, n.
        beta: true number of malfunctioning items per impure material.
        rate_shape: shape of the Gamma distribution of the rates of impure materials.
        rate_scale: scale of that distribution.
        data_seed: seed of the counts.
        seed: seed of the starts.
        iterations: maximum number of EM iterations.
        tolerance: relative change below which EM has converged.
        reading: use the sums of (2.63) `corrected` or as `printed`.
        starts: number of starts, one unit each.
    """

    products: int
    beta: float
    rate_shape: float
    rate_scale: float
    data_seed: int
    seed: int
    iterations: int
    tolerance: float
    reading: str
    starts: int = no_identity()
    kind: ClassVar[str] = names.KIND
    unit_noun: ClassVar[str] = "start"
    step_noun: ClassVar[str] = "starts"

    def check(self) -> None:
        """Raise `UserError` if a setting is invalid or the likelihood has no interior maximum."""
        key = "experiment"
        check_int(f"{key}.products", self.products, minimum=3)
        for name in ("beta", "rate_shape", "rate_scale"):
            check_between(f"{key}.{name}", getattr(self, name), 0, 1e6)
        check_between(f"{key}.tolerance", self.tolerance, 0, 1)
        for name in ("starts", "iterations"):
            check_int(f"{key}.{name}", getattr(self, name))
        check_int(f"{key}.data_seed", self.data_seed, minimum=0)
        check_int("seed", self.seed, minimum=0)
        check_choice("reading", self.reading, names.READINGS)
        if self.products > MAX_PRODUCTS:
            raise UserError(
                f"{key}.products must be at most {MAX_PRODUCTS}, not {self.products}.",
                setting=f"{key}.products",
                code="too_large",
            )
        if not self.factory().has_interior_maximum:
            raise UserError(
                f"{key}.data_seed={self.data_seed} draws a product with zero counts, so its rate "
                f"has no positive estimate; use another seed or a larger {key}.rate_scale.",
                setting=f"{key}.data_seed",
            )

    @property
    def title(self) -> str:
        return "EM with missing counts"

    def units(self) -> tuple[str, ...]:
        return tuple(f"start-{k}" for k in range(self.starts))

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return one group, because starting a process takes longer than all units together."""
        return (tuple(units),)

    def path_parts(self) -> tuple[str, ...]:
        return (f"{self.reading}-data{self.data_seed}-seed{self.seed}",)

    def metadata(self) -> dict[str, Any]:
        return {"reading": self.reading, "data_seed": self.data_seed, "seed": self.seed}

    def factory(self) -> Factory:
        """Simulate the counts."""
        settings = (self.products, self.beta, self.rate_shape, self.rate_scale, self.data_seed)
        return simulate(*settings)

    def random_start(self, start: int) -> Parameters:
        """Draw a start with beta between 1/20 and 20 and rates between 1 and 55."""
        random = np.random.default_rng([self.seed, start])
        beta = np.exp(random.uniform(-3, 3))
        return Parameters(float(beta), np.exp(random.uniform(0, 4, self.products)))

    def run(self, unit: str, store: UnitStore) -> None:
        """Run EM and L-BFGS from one start and save the tables."""
        start, factory = int(unit.removeprefix("start-")), self.factory()
        maximum = closed_form(factory, "corrected")
        trajectory = run_em(factory, self.random_start(start), self.iterations, self.tolerance)
        optimum = maximise_numerically(factory, self.random_start(start))
        formula = closed_form(factory, self.reading)
        counts = zip(factory.impure.tolist(), factory.faulty.tolist(), strict=True)
        tables = {
            ANSWERS: [
                answer.row() for answer in answers(factory, trajectory, optimum, formula, start)
            ],
            names.ITERATES: iterate_rows(trajectory, maximum, start),
            names.COUNTS: [
                {"start": start, "product": i + 1, "impure": x, "faulty": y}
                for i, (x, y) in enumerate(counts)
            ],
        }
        store.save(unit, tables, {})


def answers(
    factory: Factory, trajectory: Trajectory, optimum: Parameters, formula: Parameters, start: int
) -> Iterator[Answer]:
    """Return the results of EM and L-BFGS, with the closed form as the exact value.

    Args:
        factory: the counts.
        trajectory: the iterates of EM.
        optimum: the maximum by L-BFGS.
        formula: (2.63)-(2.66), corrected or as printed.
        start: number of the start.
    """
    setting = names.setting(start)
    for name, parameters in ((names.EM, trajectory.iterates[-1]), (names.LBFGS, optimum)):
        yield Answer(names.BETA, name, parameters.beta, setting, exact=formula.beta)
        yield Answer(
            names.TAU_1, name, float(parameters.rates[0]), setting, exact=float(formula.rates[0])
        )
        yield Answer(
            names.TAU_N, name, float(parameters.rates[-1]), setting, exact=float(formula.rates[-1])
        )
        value = log_likelihood(factory, parameters)
        exact = log_likelihood(factory, formula)
        yield Answer(names.LOG_LIKELIHOOD, name, value, setting, exact=exact)
    maximum = closed_form(factory, "corrected")
    rate = convergence_rate(trajectory.errors(maximum))
    fraction = missing_information_fraction(factory, maximum)
    yield Answer(names.RATE, names.EM, rate, setting, exact=fraction)
    yield Answer(names.ITERATIONS, names.EM, float(len(trajectory.iterates) - 1), setting)


def iterate_rows(trajectory: Trajectory, maximum: Parameters, start: int) -> list[dict[str, Any]]:
    """Return a row per iteration, beginning with the start; `error` is relative to the maximum."""
    return [
        {
            "start": start,
            "iteration": k,
            "beta": parameters.beta,
            "tau_1": float(parameters.rates[0]),
            "tau_n": float(parameters.rates[-1]),
            "log_likelihood": float(value),
            "error": float(error),
        }
        for k, (parameters, value, error) in enumerate(
            zip(
                trajectory.iterates,
                trajectory.log_likelihoods,
                trajectory.errors(maximum),
                strict=True,
            )
        )
    ]
