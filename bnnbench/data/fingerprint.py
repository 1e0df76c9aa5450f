"""Fingerprints of tables: hashes of their numbers and splits, whatever their source."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from bnnbench.types import Table


def fingerprint(table: Table) -> str:
    """Return a hash of the data and its splits, so that edited data makes a different run."""
    state = hashlib.sha256()
    arrays = [table.inputs, table.targets]
    arrays += [part.astype(np.int64) for s in table.splits for part in (s.train, s.test)]
    for array in arrays:
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


def subset_fingerprints(table: Table, parts: Sequence[np.ndarray]) -> list[str]:
    """Return one hash per subset of rows, of the row numbers and of the whole table's data.

    Two runs have the same test points where the fingerprints of their test parts agree, whatever
    the numbers of their splits and the order of the rows.

    Args:
        table: the data set.
        parts: the row numbers of each subset.
    """
    data = hashlib.sha256()
    for array in (table.inputs, table.targets):
        data.update(np.ascontiguousarray(array).tobytes())
    fingerprints = []
    for rows in parts:
        state = data.copy()
        state.update(np.sort(rows).astype(np.int64).tobytes())
        fingerprints.append(state.hexdigest()[:16])
    return fingerprints
