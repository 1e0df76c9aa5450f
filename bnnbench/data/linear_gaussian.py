"""Synthetic data from a straight line, for which the exact posterior has a closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Checked, Count, Finite, Positive, Seed, Whole
from bnnbench.data.synthetic_1d import table_of_one_split
from bnnbench.types import Table, UserError


@dataclass(frozen=True)
class LinearGaussian(Checked):
    """`y = intercept + slope x + noise` with uniform `x` (Marttinen, lecture 9, 2021).

    The lecture gives the model but no numbers; the defaults are ours. All `x` are positive, so
    intercept and slope are correlated in the posterior, which a diagonal Gaussian cannot represent.

    There is one split, with independent training and test points.

    Attributes:
        name: the label used in paths and tables.
        rows: number of training rows.
        test_rows: number of test rows.
        intercept: intercept of the true line.
        slope: slope of the true line.
        noise_precision: inverse variance of the noise, in the units of the target.
        low: lower end of the inputs.
        high: upper end of the inputs.
        data_seed: seed of the inputs and noise, independent of the run's seed.
    """

    identity_name = "bnnbench.data.linear_gaussian.LinearGaussian"
    name: str = "line"
    rows: Annotated[int, Whole(2)] = 100
    test_rows: Count = 100
    intercept: Annotated[float, Finite()] = 1.0
    slope: Annotated[float, Finite()] = -0.7
    noise_precision: Positive = 4.0
    low: Annotated[float, Finite()] = 0.0
    high: Annotated[float, Finite()] = 3.0
    data_seed: Seed = 0
    key: ClassVar[str] = "dataset"

    def check(self) -> None:
        if self.high <= self.low:
            raise UserError(
                f"dataset.high must be greater than dataset.low ({self.low:g}), not {self.high:g}.",
                setting="dataset.high",
                code="not_greater",
            )

    def load(self) -> Table:
        """Generate the table, the training rows first."""
        # RandomState, because NumPy freezes its stream: `default_rng` may change between versions.
        random = np.random.RandomState(self.data_seed)
        # Draw each part separately, so that the training rows do not depend on `test_rows`.
        inputs, noise = np.concatenate(
            [
                (random.uniform(self.low, self.high, count), random.normal(size=count))
                for count in (self.rows, self.test_rows)
            ],
            axis=1,
        )
        truth = self.intercept + self.slope * inputs
        targets = truth + noise / self.noise_precision**0.5
        return table_of_one_split(self.name, inputs, targets, truth, self.rows)
