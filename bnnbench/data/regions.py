"""Splits whose test part is a region of one feature: a gap in the middle, or both tails.

Foong, Li, Hernández-Lobato & Turner, "'In-Between' Uncertainty in Bayesian Neural Networks", 2019
(gaps of a third); Rønning et al., 2025 (gaps of a tenth).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Between, Checked, OneOf
from bnnbench.data import Source
from bnnbench.data.bundled import UCI
from bnnbench.data.splits import MIN_TRAINING_ROWS
from bnnbench.types import Split, Table, UserError

GAP, GAP10, TAIL = "gap", "gap10", "tail"

MIDDLE = {
    GAP: (Fraction(1, 3), Fraction(2, 3)),
    GAP10: (Fraction(9, 20), Fraction(11, 20)),
    TAIL: (Fraction(1, 6), Fraction(5, 6)),
}
"""Quantiles of the feature that bound the middle rows, which a gap tests and a tail does not."""

MAX_TIES = 0.1
"""A region is a true gap or tail if less than this fraction of rows has the value of an edge."""


@dataclass(frozen=True)
class Region:
    """The region of one feature that a split tests.

    Attributes:
        feature: index of the feature, and of the split.
        tested: `[N]`, whether a row is in the region.
        low: smallest value of the middle rows.
        high: largest value of the middle rows.
        distinct: number of distinct values of the feature.
        ties: fraction of all rows whose value is `low` or `high`.
    """

    feature: int
    tested: np.ndarray
    low: float
    high: float
    distinct: int
    ties: float

    @property
    def is_true(self) -> bool:
        """Whether few rows have the values of the edges, so that the region is well defined."""
        return self.ties < MAX_TIES


@dataclass(frozen=True)
class Regions(Checked):
    """The table of another data set, with one split for each of its features.

    Rows are sorted by the feature. With `gap` the middle third is tested, with `gap10` the middle
    tenth, with `tail` the lowest and the highest sixth. Rows with equal values keep the order of
    the table, except in the gaps of the UCI sets, whose rows are published: those of
    github.com/cambridge-mlg/DUN.

    Attributes:
        source: the data set.
        region: `gap`, `gap10` or `tail`.
        inside: fraction of the rows outside the region that are tested too, to compare both. They
            follow the rows of the region in every test part.
    """

    identity_name = "bnnbench.data.regions.Regions"
    source: Source
    region: Annotated[str, OneOf(*MIDDLE)] = GAP
    inside: Annotated[float, Between(0, 1, low_included=True)] = 0.1
    key: ClassVar[str] = "experiment"

    @property
    def name(self) -> str:
        """The name of the data set and the region; no published split has such a name."""
        return f"{self.source.name}_{self.region}"

    def load(self) -> Table:
        """Load the table and split it.

        Raises:
            UserError: if inputs are missing, rows are grouped, or too few rows are left to train.
        """
        table = self.source.load()
        if np.isnan(table.inputs).any():
            raise UserError(
                f"{table.name} has missing inputs, so its rows have no order; use "
                "dataset.missing=drop.",
                "dataset.missing",
                "missing_inputs",
            )
        if table.groups is not None:
            raise UserError(
                "regions of a feature would divide the groups of dataset.group; leave it out.",
                "dataset.group",
                "grouped",
            )
        splits = tuple(self._split(region) for region in self.regions(table))
        least = min(len(split.train) for split in splits)
        if least < MIN_TRAINING_ROWS:
            raise UserError(
                f"dataset: of the {len(table.targets)} rows of {table.name}, {least} would be left "
                f"for training; choose a data set that leaves at least {MIN_TRAINING_ROWS}.",
                "dataset",
                "too_few_training_rows",
            )
        return replace(table, name=f"{table.name}_{self.region}", splits=splits)

    def regions(self, table: Table) -> Iterator[Region]:
        """Yield the region of each feature of the data set's table."""
        features = table.inputs.T
        masks: Iterable[np.ndarray] = (rows_in_region(values, self.region) for values in features)
        if self.region == GAP and isinstance(self.source, UCI):
            masks = published_gaps(self.source.name, len(table.targets))
        for feature, (values, tested) in enumerate(zip(features, masks, strict=True)):
            middle = values[~tested if self.region == TAIL else tested]
            low, high = float(middle.min()), float(middle.max())
            ties = float(np.isin(values, (low, high)).mean())
            yield Region(feature, tested, low, high, len(np.unique(values)), ties)

    def _split(self, region: Region) -> Split:
        tested, outside = np.flatnonzero(region.tested), np.flatnonzero(~region.tested)
        order = np.random.RandomState([region.feature, 0]).permutation(len(outside))
        inside = np.sort(order[: round(self.inside * len(outside))])
        test = np.concatenate([tested, outside[inside]])
        return Split(region.feature, np.delete(outside, inside), test)


def rows_in_region(values: np.ndarray, region: str) -> np.ndarray:
    """Return which rows are in a region of a feature, `[N]`.

    Args:
        values: of the feature, `[N]`; equal ones keep their order.
        region: a key of `MIDDLE`.
    """
    low, high = (fraction * (len(values) - 1) for fraction in MIDDLE[region])
    middle = np.argsort(values, kind="stable")[math.ceil(low) : math.floor(high) + 1]
    return np.isin(np.arange(len(values)), middle) ^ (region == TAIL)


@cache
def published_gaps(name: str, rows: int) -> np.ndarray:
    """Return the published test rows of the gap splits of a UCI set, `[features, rows]`."""
    with (
        files("bnnbench.data").joinpath("gap_splits.npz").open("rb") as file,
        np.load(file) as packed,
    ):
        return np.unpackbits(packed[name], axis=1, count=rows).astype(bool)
