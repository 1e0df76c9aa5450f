"""Test parts are told by their rows and by what stands in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnnbench.data.fingerprint import fingerprints_of_parts
from bnnbench.data.splits import seeded_splits
from bnnbench.types import Table

INPUTS = np.arange(40.0).reshape(20, 2)
TABLE = Table("made", INPUTS, INPUTS.sum(1), seeded_splits(20, 5, 0.2, 0), ("a", "b"), "y")
ROWS = np.array([3, 17, 5])


def test_the_order_of_the_rows_does_not_count_and_the_rows_do() -> None:
    first, again, other = fingerprints_of_parts(TABLE, [ROWS, ROWS[::-1], ROWS + 1])
    assert first == again != other


def test_the_splits_of_the_table_do_not_count_and_its_numbers_do() -> None:
    (first,) = fingerprints_of_parts(TABLE, [ROWS])
    resplit = replace(TABLE, splits=seeded_splits(20, 5, 0.2, 1), name="renamed")
    edited = replace(TABLE, targets=TABLE.targets + (np.arange(20) == 0))
    assert fingerprints_of_parts(resplit, [ROWS]) == [first]
    assert fingerprints_of_parts(edited, [ROWS]) != [first]


def test_splits_of_another_seed_have_other_fingerprints() -> None:
    parts = [[split.test for split in seeded_splits(20, 5, 0.2, seed)] for seed in (0, 1)]
    found = [set(fingerprints_of_parts(TABLE, tests)) for tests in parts]
    assert len(found[0] | found[1]) == 10
