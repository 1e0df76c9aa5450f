"""Seeded splits: their rule, their exact rows, and their settings; fingerprints of test parts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.bundled import Diabetes
from bnnbench.data.own_table.source import OwnTable
from bnnbench.data.splits import seeded_splits, subset_fingerprints
from bnnbench.types import Table


def test_seeded_splits_follow_their_rule() -> None:
    splits = seeded_splits(506, 20, 0.1, seed=3)
    assert [(len(s.train), len(s.test)) for s in splits] == [(455, 51)] * 20  # as published
    for split, again in zip(splits, seeded_splits(506, 5, 0.1, seed=3), strict=False):
        assert np.array_equal(split.train, again.train) and np.array_equal(split.test, again.test)
    tests = {tuple(sorted(s.test)) for seed in (3, 4) for s in seeded_splits(506, 20, 0.1, seed)}
    assert len(tests) == 40


def test_seeded_splits_never_change() -> None:
    # Exact rows, because another generator would silently change every published number.
    assert seeded_splits(10, 2, 0.2, seed=0)[1].test.tolist() == [6, 7]


def test_seeded_splits_leave_rows_to_train_and_to_test_on() -> None:
    assert len(seeded_splits(10, 1, 0.5, seed=0)[0].train) == 5
    with raises_user_error("dataset.test_fraction", "no_test_rows"):
        seeded_splits(10, 1, 0.01, seed=0)
    with raises_user_error("dataset.test_fraction", "too_few_training_rows"):
        seeded_splits(10, 1, 0.6, seed=0)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [("n_splits", 0, None), ("test_fraction", 1.0, None), ("split_seed", -1, None),
     ("split_seed", 2**32, "too_large")],
)  # fmt: skip
def test_split_settings_are_checked(key: str, value: float, code: str | None) -> None:
    settings: dict[str, Any] = {key: value}
    for source in (Diabetes, partial(OwnTable, path="x.csv", target="y")):
        with raises_user_error(f"dataset.{key}", code):
            source(**settings)


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
