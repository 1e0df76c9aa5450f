"""Fingerprints of test parts depend on their rows and on the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnnbench.data.splits import seeded_splits, subset_fingerprints
from bnnbench.types import Table

INPUTS = np.arange(40.0).reshape(20, 2)
TABLE = Table("made", INPUTS, INPUTS.sum(1), seeded_splits(20, 5, 0.2, 0), ("a", "b"), "y")
ROWS = np.array([3, 17, 5])


def test_the_rows_matter_but_not_their_order() -> None:
    first, again, other = subset_fingerprints(TABLE, [ROWS, ROWS[::-1], ROWS + 1])
    assert first == again != other


def test_the_numbers_of_the_table_matter_but_not_its_splits() -> None:
    (first,) = subset_fingerprints(TABLE, [ROWS])
    resplit = replace(TABLE, splits=seeded_splits(20, 5, 0.2, 1), name="renamed")
    edited = replace(TABLE, targets=TABLE.targets + (np.arange(20) == 0))
    assert subset_fingerprints(resplit, [ROWS]) == [first]
    assert subset_fingerprints(edited, [ROWS]) != [first]


def test_splits_of_another_seed_have_other_fingerprints() -> None:
    parts = [[split.test for split in seeded_splits(20, 5, 0.2, seed)] for seed in (0, 1)]
    found = [set(subset_fingerprints(TABLE, tests)) for tests in parts]
    assert len(found[0] | found[1]) == 10
