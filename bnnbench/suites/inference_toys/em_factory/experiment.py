"""Expectation maximisation for the factory as an experiment with one unit per random start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from bnnbench.constraints import Between, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.identity import no_identity
from bnnbench.suites.inference_toys.em_factory import factory as model
from bnnbench.suites.inference_toys.em_factory.factory import Factory
from bnnbench.types import UserError

ITERATES = "iterates"
"""The parameters after every iteration of EM, by start; `error` is relative to the maximum."""

COUNTS = "counts"
"""The counts, including the two hidden ones."""

EM, LBFGS, PRINTED = "EM", "L-BFGS", "(2.63)-(2.66) as printed"
"""Approximations of answers."""

PARAMETERS = ("beta", "tau_1", "tau_n")
RATE = "rate of convergence"


@dataclass(frozen=True, kw_only=True)
class EMFactory(TableExperiment):
    """Maximises the likelihood of counts, two of which are missing, from random starts.

    See `configs/experiment` for the settings; `seed` is that of the starts.
    """

    identity_name = "bnnbench.suites.inference_toys.em_factory.experiment.EMFactory"
    products: Annotated[int, Whole(3, maximum=1000)]
    beta: Annotated[float, Between(0, 1e6)]
    rate_shape: Annotated[float, Between(0, 1e6)]
    rate_scale: Annotated[float, Between(0, 1e6)]
    data_seed: Annotated[int, Whole(0)]
    seed: Annotated[int, Whole(0)]
    iterations: Annotated[int, Whole()]
    tolerance: Annotated[float, Between(0, 1)]
    starts: Annotated[int, Whole()] = no_identity()
    kind: ClassVar[str] = "em_factory"
    name: ClassVar[str] = "EM with missing counts"
    columns: ClassVar[tuple[str, ...]] = ("data_seed", "seed")
    one_process: ClassVar[bool] = True

    def check(self) -> None:
        """Raise `UserError` if a setting is invalid or the likelihood has no interior maximum."""
        super().check()
        if not self.factory().has_interior_maximum:
            raise UserError(
                f"experiment.data_seed={self.data_seed} draws a product with zero counts, so its "
                "rate has no positive estimate; use another seed or a larger "
                "experiment.rate_scale.",
                setting="experiment.data_seed",
            )

    def cases(self) -> dict[str, int | None]:
        return {"closed_form": None, **{f"start-{k}": k for k in range(self.starts)}}

    def tables(self, case: int | None) -> Tables:
        if case is None:
            return closed_form_tables(self.factory())
        start = self.random_start(case)
        limits = self.iterations, self.tolerance
        return start_tables(self.factory(), case, start, *limits)

    def factory(self) -> Factory:
        """Simulate the counts."""
        settings = (self.products, self.beta, self.rate_shape, self.rate_scale, self.data_seed)
        return model.simulate(*settings)

    def random_start(self, start: int) -> np.ndarray:
        """Draw a start with beta between 1/20 and 20 and rates between 1 and 55."""
        random = np.random.default_rng([self.seed, start])
        return np.exp([random.uniform(-3, 3), *random.uniform(0, 4, self.products)])


def closed_form_tables(factory: Factory) -> Tables:
    """Return the counts, and the closed form as printed."""
    counts = {"impure": factory.impure, "faulty": factory.faulty}
    products = np.arange(1, len(factory.impure) + 1)
    return {
        ANSWERS: [*_answers(factory, PRINTED, model.closed_form(factory, printed=True))],
        COUNTS: pd.DataFrame({"product": products, **counts}),
    }


def start_tables(
    factory: Factory, number: int, start: np.ndarray, iterations: int, tolerance: float
) -> Tables:
    """Run EM and L-BFGS from the start with this number."""
    maximum = model.closed_form(factory)
    iterates = model.run_em(factory, start, iterations, tolerance)
    errors = np.abs(iterates / maximum - 1).max(1)
    setting = f"start {number}"
    fraction = model.missing_information_fraction(factory, maximum)
    answers = [
        *_answers(factory, EM, iterates[-1], setting),
        *_answers(factory, LBFGS, model.maximise_numerically(factory, start), setting),
        Answer(RATE, EM, model.convergence_rate(errors), setting, exact=fraction),
        Answer("iterations", EM, float(len(iterates) - 1), setting),
    ]
    columns = {
        "iteration": np.arange(len(iterates)),
        **dict(zip(PARAMETERS, iterates[:, [0, 1, -1]].T, strict=True)),
        "log_likelihood": [model.log_likelihood(factory, theta) for theta in iterates],
        "error": errors,
    }
    return {ANSWERS: answers, ITERATES: pd.DataFrame({"start": number, **columns})}


def _answers(factory: Factory, name: str, theta: np.ndarray, setting: str = "") -> Iterator[Answer]:
    """Compare an estimate with the maximum."""
    maximum = model.closed_form(factory)
    for quantity, index in zip(PARAMETERS, (0, 1, -1), strict=True):
        yield Answer(quantity, name, theta[index], setting, exact=maximum[index])
    value, exact = model.log_likelihood(factory, theta), model.log_likelihood(factory, maximum)
    yield Answer("log-likelihood", name, value, setting, exact=exact)
