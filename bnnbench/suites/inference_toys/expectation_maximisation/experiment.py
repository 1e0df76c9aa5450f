"""Expectation maximisation for two univariate Gaussians.

Alvarez, "Approximate inference for neural networks", Universidad Tecnologica de Pereira: the
mixture, its bound by Jensen's inequality, the E-step that makes the bound tight and the M-step that
maximises it. The lecture's single observation, `y = 4.3`, is the upper cluster centre here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.table_experiment import TableExperiment, Tables
from bnnbench.suites.inference_toys.expectation_maximisation import model, tables
from bnnbench.suites.inference_toys.mixtures import Ascent


@dataclass(frozen=True, kw_only=True)
class ExpectationMaximisation(TableExperiment):
    """Runs EM from random starts on two data sets, and from a start that collapses.

    See `configs/experiment` for the settings; `seed` is that of the starts.
    """

    weight: Annotated[float, Between(0, 1)]
    loc: Annotated[tuple[float, ...], ListOf(Between(-1e4, 1e4), length=2)]
    scale: Annotated[tuple[float, ...], ListOf(Between(0, 1e4), length=2)]
    points: Annotated[int, Whole(5)]
    data_seed: Annotated[int, Whole(0)]
    starts: Annotated[int, Whole()]
    iterations: Annotated[int, Whole()]
    tolerance: Annotated[float, Between(0, 1)]
    min_variance: Annotated[float, Between(0, 1)]
    seed: Annotated[int, Whole(0)]
    kind: ClassVar[str] = tables.KIND
    name: ClassVar[str] = "expectation maximisation"
    columns: ClassVar[tuple[str, ...]] = ("points", "starts", "seed")

    def cases(self) -> dict[str, str]:
        return {part: part for part in tables.SETTINGS}

    def tables(self, case: str) -> Tables:
        points = petal_lengths() if case == "petal_lengths" else self.synthetic_data()
        if case == "collapsing_start":
            fit = self.run_em(points, model.collapsing_start(points))
            return tables.collapse_tables(points, fit)
        randoms = [np.random.default_rng([self.seed, n]) for n in range(self.starts)]
        fits = [self.run_em(points, model.random_start(points, random)) for random in randoms]
        return tables.random_start_tables(case, points, fits)

    def run_em(self, points: np.ndarray, start: np.ndarray) -> Ascent[np.ndarray]:
        """Run EM on points `[N]` from one start."""
        return model.run_em(points, start, self.iterations, self.tolerance, self.min_variance)

    def synthetic_data(self) -> np.ndarray:
        """Draw points from the mixture, `[N]`."""
        random = np.random.default_rng(self.data_seed)
        first = random.random(self.points) < self.weight
        loc, scale = np.where(first, *self.loc), np.where(first, *self.scale)
        return loc + scale * random.normal(size=self.points)


def petal_lengths() -> np.ndarray:
    """Return the petal lengths of 150 irises in cm, a multimodal sample (Fisher, 1936)."""
    from sklearn.datasets import load_iris

    return np.array(load_iris().data[:, 2])
