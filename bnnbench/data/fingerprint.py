"""What tells one table from another: the numbers and the splits, not where they came from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from bnnbench.types import Table


def fingerprint(table: Table) -> str:
    """A digest of the data and its splits, so that edited data is another run."""
    state = hashlib.sha256()
    arrays = [table.inputs, table.targets]
    arrays += [part.astype(np.int64) for s in table.splits for part in (s.train, s.test)]
    for array in arrays:
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


def fingerprints_of_parts(table: Table, parts: Sequence[np.ndarray]) -> list[str]:
    """A digest of some rows each: of their numbers, and of all that the table holds.

    Two runs are tested on the same points where those of their test parts agree, whatever their
    splits are called and in whatever order they name the rows.

    Args:
        table: the data set.
        parts: row numbers.
    """
    data = hashlib.sha256()
    for array in (table.inputs, table.targets):
        data.update(np.ascontiguousarray(array).tobytes())
    found = []
    for rows in parts:
        state = data.copy()
        state.update(np.sort(rows).astype(np.int64).tobytes())
        found.append(state.hexdigest()[:16])
    return found
