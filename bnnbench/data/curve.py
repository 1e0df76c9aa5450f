"""Made data with one input and a known function, for looking at what a method is unsure of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from bnnbench.data.splits import LEAST_TRAINING_ROWS
from bnnbench.settings import between, whole
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
    summary: str = ""
    points: int = 40
    low: float = -1.0
    high: float = 1.0
    grid_low: float = -2.0
    grid_high: float = 2.0
    grid_points: int = 401
    data_seed: int = 0

    def __post_init__(self) -> None:
        whole("dataset.points", self.points, least=LEAST_TRAINING_ROWS)
        whole("dataset.grid_points", self.grid_points, least=2)
        whole("dataset.data_seed", self.data_seed, least=0)
        between("dataset.data_seed", self.data_seed, -1, 2**32)  # what the generator takes
        for key in ("low", "high", "grid_low", "grid_high"):
            between(f"dataset.{key}", getattr(self, key), -np.inf)
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


@dataclass(frozen=True)
class Sine(Curve):
    """`y = -(x + 1) sin(3 pi x) + noise` (book, eq. 4.63).

    Attributes:
        noise: standard deviation of the noise, the same everywhere.
    """

    noise: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        between("dataset.noise", self.noise, 0, low_included=True)

    def function(self, x: np.ndarray) -> np.ndarray:
        return -(x + 1) * np.sin(3 * np.pi * x)

    def noise_scale(self, x: np.ndarray) -> np.ndarray:
        return np.full_like(x, self.noise)
