"""Expectation maximisation for the factory as an experiment with one unit per random start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Between, Whole
from bnnbench.experiment.table_experiment import TableExperiment, Tables
from bnnbench.identity import no_identity
from bnnbench.suites.inference_toys.em_factory import tables
from bnnbench.suites.inference_toys.em_factory.factory import Factory, simulate
from bnnbench.types import UserError


@dataclass(frozen=True, kw_only=True)
class EMFactory(TableExperiment):
    """Maximises the likelihood of counts, two of which are missing, from random starts.

    See `configs/experiment` for the settings; `seed` is that of the starts.
    """

    products: Annotated[int, Whole(3, maximum=1000)]
    beta: Annotated[float, Between(0, 1e6)]
    rate_shape: Annotated[float, Between(0, 1e6)]
    rate_scale: Annotated[float, Between(0, 1e6)]
    data_seed: Annotated[int, Whole(0)]
    seed: Annotated[int, Whole(0)]
    iterations: Annotated[int, Whole()]
    tolerance: Annotated[float, Between(0, 1)]
    starts: Annotated[int, Whole()] = no_identity()
    kind: ClassVar[str] = tables.KIND
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
            return tables.closed_form_tables(self.factory())
        start = self.random_start(case)
        limits = self.iterations, self.tolerance
        return tables.start_tables(self.factory(), case, start, *limits)

    def factory(self) -> Factory:
        """Simulate the counts."""
        settings = (self.products, self.beta, self.rate_shape, self.rate_scale, self.data_seed)
        return simulate(*settings)

    def random_start(self, start: int) -> np.ndarray:
        """Draw a start with beta between 1/20 and 20 and rates between 1 and 55."""
        random = np.random.default_rng([self.seed, start])
        return np.exp([random.uniform(-3, 3), *random.uniform(0, 4, self.products)])
