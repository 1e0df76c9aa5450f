"""Synthetic data with one input: noisy values of known functions, and of a straight line.

The functions are for inspecting predictive uncertainty. The exact posterior of the line has a
closed form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Between, Checked, Count, Finite, Positive, Seed, Whole
from bnnbench.data.splits import MIN_TRAINING_ROWS
from bnnbench.types import Split, Table, UserError


@dataclass(frozen=True)
class NoisyFunction(Checked, ABC):
    """Noisy values of a function: random training points, and a wider even grid of test points.

    There is one split. The test targets are noisy too; the noise-free function is the table's
    `truth`, which methods do not see.

    Attributes:
        name: the label used in paths and tables.
        points: number of training points; their inputs are uniform between `low` and `high`.
        low: lower end of the training inputs.
        high: upper end of the training inputs.
        grid_low: lower end of the test inputs.
        grid_high: upper end of the test inputs.
        grid_points: number of test points.
        data_seed: seed of the inputs and noise, independent of the run's seed.
    """

    name: str
    points: Annotated[int, Whole(MIN_TRAINING_ROWS)] = 40
    low: Annotated[float, Finite()] = -1.0
    high: Annotated[float, Finite()] = 1.0
    grid_low: Annotated[float, Finite()] = -2.0
    grid_high: Annotated[float, Finite()] = 2.0
    grid_points: Annotated[int, Whole(2)] = 401
    data_seed: Seed = 0
    key: ClassVar[str] = "dataset"

    def check(self) -> None:
        for low, high in (("low", "high"), ("grid_low", "grid_high")):
            if not getattr(self, low) < getattr(self, high):
                raise UserError(
                    f"dataset.{low} must be less than dataset.{high} ({getattr(self, high):g}), "
                    f"not {getattr(self, low):g}.",
                    setting=f"dataset.{low}",
                    code="not_less",
                )

    @abstractmethod
    def function(self, x: np.ndarray) -> np.ndarray:
        """Return the noise-free function at `x`, `[N]`."""

    @abstractmethod
    def noise_scale(self, x: np.ndarray) -> np.ndarray:
        """Return the standard deviation of the noise at `x`, `[N]`."""

    def load(self) -> Table:
        """Generate the data."""
        # RandomState, because NumPy freezes its stream: `default_rng` may change between versions.
        random = np.random.RandomState(self.data_seed)
        drawn = np.sort(random.uniform(self.low, self.high, self.points))
        inputs = np.concatenate(
            [drawn, np.linspace(self.grid_low, self.grid_high, self.grid_points)]
        )
        truth = self.function(inputs)
        targets = truth + self.noise_scale(inputs) * random.standard_normal(len(inputs))
        return table_of_one_split(self.name, inputs, targets, truth, self.points)


def table_of_one_split(
    name: str, inputs: np.ndarray, targets: np.ndarray, truth: np.ndarray, n_train: int
) -> Table:
    """Return a table `[N]` with one input, whose first `n_train` rows are for training."""
    rows = np.arange(len(inputs))
    return Table(
        name=name,
        inputs=inputs[:, None],
        targets=targets,
        splits=(Split(0, rows[:n_train], rows[n_train:]),),
        features=("x",),
        target="y",
        truth=truth,
    )


BUMP_SPACING, BUMP_RANGE = 0.5, 20.0
"""Spacing and largest centre of the bumps that add up to a Gaussian process sample, in length
scales."""


@dataclass(frozen=True)
class GaussianProcessSample(NoisyFunction):
    """A sample from a Gaussian process with the kernel `exp(-(x - x')^2 / (2 length_scale^2))`.

    The noise standard deviation is `noise |x - noise_free_input|` (GVI thesis, section 5.0.2). The
    function is a sum of evenly spaced bumps with standard normal heights, whose covariance equals
    the kernel to eight digits (Higdon 2002, process convolutions). It therefore depends on
    `data_seed` and `length_scale` only, not on the inputs at which it is evaluated.

    Attributes:
        length_scale: length scale of the kernel.
        noise: standard deviation of the noise at distance 1 from `noise_free_input`.
        noise_free_input: the input at which there is no noise.
    """

    identity_name = "bnnbench.data.synthetic_1d.GaussianProcessSample"
    length_scale: Positive = 1.0
    noise: Annotated[float, Between(0, low_included=True)] = 0.3
    noise_free_input: Annotated[float, Finite()] = -2.0

    def check(self) -> None:
        super().check()
        # Beyond the last bump the function would decay to zero.
        limit = (BUMP_RANGE - 5) * self.length_scale
        for key in ("low", "high", "grid_low", "grid_high"):
            if abs(getattr(self, key)) > limit:
                raise UserError(
                    f"dataset.{key} must be within {BUMP_RANGE - 5:g} length scales of 0, not "
                    f"{getattr(self, key):g}.",
                    setting=f"dataset.{key}",
                    code="out_of_range",
                )

    def function(self, x: np.ndarray) -> np.ndarray:
        places = np.arange(-BUMP_RANGE, BUMP_RANGE + BUMP_SPACING, BUMP_SPACING)
        heights = np.random.RandomState([self.data_seed, 1]).standard_normal(len(places))
        bumps = np.exp(-((x[:, None] / self.length_scale - places) ** 2))
        # Not a matrix product, whose rounding depends on its size and on the machine.
        scale = np.sqrt(BUMP_SPACING * np.sqrt(2 / np.pi))
        values: np.ndarray = scale * (bumps * heights).sum(1)
        return values

    def noise_scale(self, x: np.ndarray) -> np.ndarray:
        return self.noise * np.abs(x - self.noise_free_input)


@dataclass(frozen=True)
class Sine(NoisyFunction):
    """`y = -(x + 1) sin(3 pi x) + noise` (book, eq. 4.63).

    Attributes:
        noise: standard deviation of the noise.
    """

    identity_name = "bnnbench.data.synthetic_1d.Sine"
    noise: Annotated[float, Between(0, low_included=True)] = 0.3

    def function(self, x: np.ndarray) -> np.ndarray:
        return -(x + 1) * np.sin(3 * np.pi * x)

    def noise_scale(self, x: np.ndarray) -> np.ndarray:
        return np.full_like(x, self.noise)


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
