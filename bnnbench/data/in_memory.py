"""Rows in memory, all of which are for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bnnbench.types import Split, Table

NAME = "rows"


@dataclass(frozen=True)
class InMemory:
    """A source of rows in memory, with a single split that has no test rows.

    Attributes:
        rows: number of rows; `protocol=auto` depends on it.
        name: the label.
        table: the rows.
    """

    rows: int
    name: str = NAME
    table: Table | None = None
    summary: ClassVar[str] = "rows in memory"

    @classmethod
    def of(cls, inputs: np.ndarray, targets: np.ndarray, features: Sequence[str]) -> InMemory:
        """Make a source.

        Args:
            inputs: `[N, D]`, NaN for missing values.
            targets: `[N]`.
            features: `D` names.
        """
        rows = np.arange(len(targets))
        split = Split(0, rows, rows[:0])
        table = Table(NAME, inputs, targets, (split,), tuple(features), "target")
        return cls(len(rows), table=table)

    def load(self) -> Table:
        """Return the rows."""
        assert self.table is not None
        return self.table
