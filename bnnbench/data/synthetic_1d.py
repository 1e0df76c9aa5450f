"""Made data with one input and a known function, for looking at what a method is unsure of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from bnnbench.checks import check_between, check_finite, check_int
from bnnbench.data.splits import LEAST_TRAINING_ROWS, check_seed
from bnnbench.identity import no_identity
from bnnbench.types import Split, Table, UserError


@dataclass(frozen=True)
class Curve(ABC):
    """Noisy values of a function: random points to train on, an even grid beyond them to test on.

    The one split trains on all points and tests on the grid, whose targets carry noise too; the
    function without noise is the table's `truth`, which no method sees.

    Attributes:
        name: the label used in paths and tables.
        summary: one line about the data.
        points: training points, inputs uniform between `low` and `high`.
        low: least input to train on.
        high: greatest input to train on.
        grid_low: least input to test on.
        grid_high: greatest input to test on.
        grid_points: how many inputs to test on.
        data_seed: draws inputs and noise, whatever the run's seed.
    """

    name: str
    summary: str = no_identity("")
    points: int = 40
    low: float = -1.0
    high: float = 1.0
    grid_low: float = -2.0
    grid_high: float = 2.0
    grid_points: int = 401
    data_seed: int = 0

    def __post_init__(self) -> None:
        check_int("dataset.points", self.points, least=LEAST_TRAINING_ROWS)
        check_int("dataset.grid_points", self.grid_points, least=2)
        check_seed("dataset.data_seed", self.data_seed)
        for key in ("low", "high", "grid_low", "grid_high"):
            check_finite(f"dataset.{key}", getattr(self, key))
        for low, high in (("low", "high"), ("grid_low", "grid_high")):
            if not getattr(self, low) < getattr(self, high):
                raise UserError(
                    f"dataset.{low} must be below dataset.{high}, not {getattr(self, low):g} and "
                    f"{getattr(self, high):g}."
                )

    @abstractmethod
    def function(self, x: np.ndarray) -> np.ndarray:
        """The function without noise at `x`, `[N]`."""

    @abstractmethod
    def noise_scale(self, x: np.ndarray) -> np.ndarray:
        """Standard deviation of the noise at `x`, `[N]`."""

    def load(self) -> Table:
        """Draws the data; nothing is read."""
        # RandomState, because NumPy freezes its stream: `default_rng` may change between versions.
        random = np.random.RandomState(self.data_seed)
        drawn = np.sort(random.uniform(self.low, self.high, self.points))
        inputs = np.concatenate(
            [drawn, np.linspace(self.grid_low, self.grid_high, self.grid_points)]
        )
        truth = self.function(inputs)
        targets = truth + self.noise_scale(inputs) * random.standard_normal(len(inputs))
        rows = np.arange(len(inputs))
        return Table(
            name=self.name,
            inputs=inputs[:, None],
            targets=targets,
            splits=(Split(0, rows[: self.points], rows[self.points :]),),
            features=("x",),
            target="y",
            truth=truth,
        )


SPACING, REACH = 0.5, 20.0
"""Of the bumps that add up to a draw from a Gaussian process, in length scales."""


@dataclass(frozen=True)
class GaussianProcess(Curve):
    """A draw from a Gaussian process with the kernel `exp(-(x - x')^2 / (2 length_scale^2))`.

    The noise's standard deviation is `noise |x - quiet|` (GVI thesis, section 5.0.2). The function
    is a sum of evenly spaced bumps with standard normal heights, whose covariance is that kernel to
    eight digits (Higdon 2002, process convolutions): it depends on `data_seed` and `length_scale`
    only, not on where it is looked at.

    Attributes:
        length_scale: of the kernel.
        noise: standard deviation of the noise at distance 1 from `quiet`.
        quiet: the input without noise.
    """

    length_scale: float = 1.0
    noise: float = 0.3
    quiet: float = -2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("dataset.length_scale", self.length_scale, 0)
        check_between("dataset.noise", self.noise, 0, low_included=True)
        check_finite("dataset.quiet", self.quiet)
        # Beyond its last bump the function would fade to nothing.
        most = (REACH - 5) * self.length_scale
        for key in ("low", "high", "grid_low", "grid_high"):
            if abs(getattr(self, key)) > most:
                raise UserError(
                    f"dataset.{key} must lie within {REACH - 5:g} length scales of 0, not at "
                    f"{getattr(self, key):g}."
                )

    def function(self, x: np.ndarray) -> np.ndarray:
        places = np.arange(-REACH, REACH + SPACING, SPACING)
        heights = np.random.RandomState([self.data_seed, 1]).standard_normal(len(places))
        bumps = np.exp(-((x[:, None] / self.length_scale - places) ** 2))
        # A sum and not a product of matrices, whose last bits depend on its size and the machine.
        return np.sqrt(SPACING * np.sqrt(2 / np.pi)) * (bumps * heights).sum(1)

    def noise_scale(self, x: np.ndarray) -> np.ndarray:
        return self.noise * np.abs(x - self.quiet)


@dataclass(frozen=True)
class Sine(Curve):
    """`y = -(x + 1) sin(3 pi x) + noise` (book, eq. 4.63).

    Attributes:
        noise: standard deviation of the noise, the same everywhere.
    """

    noise: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("dataset.noise", self.noise, 0, low_included=True)

    def function(self, x: np.ndarray) -> np.ndarray:
        return -(x + 1) * np.sin(3 * np.pi * x)

    def noise_scale(self, x: np.ndarray) -> np.ndarray:
        return np.full_like(x, self.noise)
