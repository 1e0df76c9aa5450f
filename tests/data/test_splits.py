"""Seeded splits: their rule, their exact rows, and their settings."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.bundled import Diabetes
from bnnbench.data.own_table.source import OwnTable
from bnnbench.data.splits import seeded_splits


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
