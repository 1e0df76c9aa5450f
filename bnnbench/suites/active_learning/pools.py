"""Labelled rows, a pool of rows to label, and test rows, drawn anew in each repetition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Checked, Count, Whole
from bnnbench.data import Source
from bnnbench.types import Split, Table, UserError


@dataclass(frozen=True)
class Pools(Checked):
    """The table of another data set, with one split for each repetition.

    The training part of a split consists of the labelled rows and the pool, in this order. Split k
    permutes the rows with a generator seeded with `(seed, k)`.

    Attributes:
        source: the data set.
        start: number of rows that are labelled at first.
        additions: number of rows that will be labelled, one at a time.
        test: number of test rows.
        pool: maximum number of rows in the pool.
        repetitions: number of splits.
        seed: of the permutations.
    """

    identity_name = "bnnbench.suites.active_learning.pools.Pools"
    source: Source
    start: Annotated[int, Whole(2)] = 20
    additions: Count = 9
    test: Count = 100
    pool: Count = 1000
    repetitions: Annotated[int, Whole(2)] = 40
    seed: Annotated[int, Whole(0)] = 0
    key: ClassVar[str] = "experiment"

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.source.name

    def load(self) -> Table:
        """Load the table and split it.

        Raises:
            UserError: if it has too few rows, or its rows are grouped.
        """
        table = self.source.load()
        rows, needed = len(table.targets), self.start + self.additions + self.test
        if rows < needed:
            raise UserError(
                f"experiment.test: {table.name} has {rows} rows, but experiment.start, "
                f"experiment.additions and experiment.test need {needed}; choose fewer.",
                "experiment.test",
                "too_many_rows",
            )
        if self.pool < self.additions:
            raise UserError(
                f"experiment.pool must be at least experiment.additions={self.additions}, not "
                f"{self.pool}.",
                "experiment.pool",
                "too_small",
            )
        if table.groups is not None:
            raise UserError(
                "experiment=active_learning would divide the groups of dataset.group; leave it "
                "out.",
                "dataset.group",
                "grouped",
            )
        return replace(table, splits=tuple(self._split(k, rows) for k in range(self.repetitions)))

    def _split(self, index: int, rows: int) -> Split:
        order = np.random.RandomState([self.seed, index]).permutation(rows)
        pool_start = self.start + self.test
        pool = order[pool_start : pool_start + self.pool]
        train = np.concatenate([order[: self.start], pool])
        return Split(index, train, order[self.start : pool_start])
