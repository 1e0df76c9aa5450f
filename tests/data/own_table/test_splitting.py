"""Splits by group and by time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.user_errors import raises_user_error

from bnnbench.data.own_table.splitting import grouped_splits, time_splits
from bnnbench.types import UserError


@given(st.lists(st.integers(0, 9), min_size=30, max_size=60), st.integers(0, 99))
def test_groups_stay_together(groups: list[int], seed: int) -> None:
    numbers = np.unique(groups, return_inverse=True)[1]
    if len({*groups}) < 5 or np.bincount(numbers).max() > 20:
        return
    for split in grouped_splits(numbers, 4, 0.25, seed):
        assert sorted([*split.train, *split.test]) == list(range(len(groups)))
        assert not {*numbers[split.train]} & {*numbers[split.test]}


@given(st.lists(st.integers(0, 30), min_size=40, max_size=60))
def test_test_rows_follow_training_rows(times: list[int]) -> None:
    moments = np.array(times, float)
    try:
        splits = time_splits(moments, 3, 0.1)
    except UserError:
        return
    for split in splits:
        assert moments[split.train].max() < moments[split.test].min()
    assert {len(split.test) for split in splits} == {round(0.1 * len(times))}
    assert max(moments[splits[-1].test]) == moments.max()


def test_windows_roll_to_the_end() -> None:
    splits = time_splits(np.arange(100.0), 5, 0.1)
    assert [split.test[0] for split in splits] == [50, 60, 70, 80, 90]
    assert [len(split.train) for split in splits] == [50, 60, 70, 80, 90]


def test_rows_with_equal_times_cannot_be_split() -> None:
    with raises_user_error("dataset.test_fraction", "too_few_training_rows"):
        time_splits(np.zeros(40), 2, 0.1)
