"""Expectation maximisation for the factory as an experiment: a unit per random start."""

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
from bnnbench.suites.inference_toys.em_factory.algorithm import Path, climb, measured_rate
from bnnbench.suites.inference_toys.em_factory.model import (
    Factory,
    Parameters,
    closed_form,
    log_likelihood,
    missing_information,
    search,
    simulate,
)
from bnnbench.types import UserError

MOST = 1000
"""Products, since the information is a dense matrix."""


@dataclass(frozen=True, kw_only=True)
class EMFactory(Experiment):
    """Climbs the likelihood of counts of which two are missing, from random starts.

    Attributes:
        products: of the factory, n.
        beta: malfunctioning items per impure material, of the simulated factory.
        rate_shape: of the Gamma distribution of impure materials.
        rate_scale: of it.
        data_seed: of the counts.
        seed: of the starts.
        iterations: of EM, at most.
        tolerance: relative movement below which EM has settled.
        reading: of (2.63), whose sums are `corrected` or as `printed`.
        starts: how many, a unit each.
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
        """Raises `UserError` if a setting makes no factory, or one without a maximum inside."""
        key = "experiment"
        check_int(f"{key}.products", self.products, least=3)
        for name in ("beta", "rate_shape", "rate_scale"):
            check_between(f"{key}.{name}", getattr(self, name), 0, 1e6)
        check_between(f"{key}.tolerance", self.tolerance, 0, 1)
        for name in ("starts", "iterations"):
            check_int(f"{key}.{name}", getattr(self, name))
        check_int(f"{key}.data_seed", self.data_seed, least=0)
        check_int("seed", self.seed, least=0)
        check_choice(f"{key}.reading", self.reading, names.READINGS)
        if self.products > MOST:
            raise UserError(f"{key}.products must be at most {MOST}, not {self.products}.")
        if not self.factory().regular:
            raise UserError(
                f"{key}.data_seed={self.data_seed} draws a product without any count, and its rate "
                "has no estimate above zero; use another, or a larger experiment.rate_scale."
            )

    @property
    def title(self) -> str:
        return "EM with missing counts"

    def units(self) -> tuple[str, ...]:
        return tuple(f"start-{k}" for k in range(self.starts))

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """All in one: another process takes longer to start than they take."""
        return (tuple(units),)

    def place(self) -> tuple[str, ...]:
        return (f"{self.reading}-data{self.data_seed}-seed{self.seed}",)

    def names(self) -> dict[str, Any]:
        return {"reading": self.reading, "data_seed": self.data_seed, "seed": self.seed}

    def factory(self) -> Factory:
        """The counts."""
        settings = (self.products, self.beta, self.rate_shape, self.rate_scale, self.data_seed)
        return simulate(*settings)

    def guess(self, start: int) -> Parameters:
        """A random start: beta within a factor of 20 of 1, rates between 1 and 50."""
        random = np.random.default_rng([self.seed, start])
        beta = np.exp(random.uniform(-3, 3))
        return Parameters(float(beta), np.exp(random.uniform(0, 4, self.products)))

    def run(self, unit: str, store: UnitStore) -> None:
        """Saves answers, iterates and counts of one start."""
        start, factory = int(unit.removeprefix("start-")), self.factory()
        maximum = closed_form(factory, "corrected")
        path = climb(factory, self.guess(start), self.iterations, self.tolerance)
        found = search(factory, self.guess(start))
        formula = closed_form(factory, self.reading)
        counts = zip(factory.impure.tolist(), factory.faulty.tolist(), strict=True)
        tables = {
            ANSWERS: [one.row() for one in answers(factory, path, found, formula, start)],
            names.ITERATES: iterate_rows(path, maximum, start),
            names.COUNTS: [
                {"start": start, "product": i + 1, "impure": x, "faulty": y}
                for i, (x, y) in enumerate(counts)
            ],
        }
        store.save(unit, tables, {})


def answers(
    factory: Factory, path: Path, found: Parameters, formula: Parameters, start: int
) -> Iterator[Answer]:
    """What EM and a direct search came to, beside the closed form as it is read.

    Args:
        factory: the counts.
        path: of EM.
        found: by direct search.
        formula: (2.63)-(2.66) in the chosen reading.
        start: its number.
    """
    setting = names.setting(start)
    for name, at in ((names.EM, path.steps[-1]), (names.SEARCH, found)):
        yield Answer(names.BETA, name, at.beta, setting, exact=formula.beta)
        yield Answer(names.TAU_1, name, float(at.rates[0]), setting, exact=float(formula.rates[0]))
        yield Answer(
            names.TAU_N, name, float(at.rates[-1]), setting, exact=float(formula.rates[-1])
        )
        height = log_likelihood(factory, at)
        top = log_likelihood(factory, formula)
        yield Answer(names.LOG_LIKELIHOOD, name, height, setting, exact=top)
    maximum = closed_form(factory, "corrected")
    rate = measured_rate(path.errors(maximum))
    yield Answer(names.RATE, names.EM, rate, setting, exact=missing_information(factory, maximum))
    yield Answer(names.ITERATIONS, names.EM, float(len(path.steps) - 1), setting)


def iterate_rows(path: Path, maximum: Parameters, start: int) -> list[dict[str, Any]]:
    """A row per iteration, the start as the 0th; `error` is relative to the maximum."""
    return [
        {
            "start": start,
            "iteration": k,
            "beta": at.beta,
            "tau_1": float(at.rates[0]),
            "tau_n": float(at.rates[-1]),
            "log_likelihood": float(height),
            "error": float(error),
        }
        for k, (at, height, error) in enumerate(
            zip(path.steps, path.log_likelihoods, path.errors(maximum), strict=True)
        )
    ]
