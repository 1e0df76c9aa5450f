"""Rows in memory, all of which are for training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bnnbench.data.checks import check_numbers, check_positive, is_constant
from bnnbench.types import Split, Table, UserError

NAME = "rows"


@dataclass(frozen=True)
class InMemory:
    """A source of rows in memory, with a single split that has no test rows.

    Attributes:
        rows: number of rows.
        name: the label.
        table: the rows; without it, only their number is known.
    """

    rows: int
    name: str = NAME
    table: Table | None = None

    @classmethod
    def of(
        cls, inputs: np.ndarray, targets: np.ndarray, features: Sequence[str], log_target: bool
    ) -> InMemory:
        """Make a source.

        Args:
            inputs: `[N, D]`, NaN for missing values.
            targets: `[N]`.
            features: `D` names.
            log_target: whether methods learn the logarithm of the target.

        Raises:
            UserError: if the targets are constant or have no logarithm, or numbers cannot be
                standardised.
        """
        for name, column in zip(features, inputs.T, strict=True):
            if not np.isnan(column).all():
                check_numbers(f"column {name!r} of X", column, "X")
        check_numbers("y", targets, "y")
        if is_constant(targets):
            raise UserError(f"y is {targets[0]:g} in every row; nothing varies.", "y", "constant")
        if log_target:
            check_positive("y", targets, 1 + np.arange(len(targets)), "log_target")
        table = _one_split(inputs, targets, features)
        return cls(len(targets), table=replace(table, log_target=log_target))

    def load(self) -> Table:
        """Return the rows."""
        return self.table or _one_split(np.empty((self.rows, 0)), np.zeros(self.rows), ())


def _one_split(inputs: np.ndarray, targets: np.ndarray, features: Sequence[str]) -> Table:
    rows = np.arange(len(targets))
    return Table(NAME, inputs, targets, (Split(0, rows, rows[:0]),), tuple(features), "target")
