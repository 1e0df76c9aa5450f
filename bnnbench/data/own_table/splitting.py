"""Splits that respect what rows have in common, or which came first."""

from __future__ import annotations

import numpy as np

from bnnbench.data.splits import LEAST_TRAINING_ROWS
from bnnbench.types import Split, UserError

WINDOWS = 5
"""Of splits by time, unless told otherwise."""


def grouped_splits(
    groups: np.ndarray, n_splits: int, test_fraction: float, seed: int
) -> tuple[Split, ...]:
    """Random splits in which the rows of one group stay together.

    Args:
        groups: `[N]`, the number of each row's group.
        n_splits: how many.
        test_fraction: share of the groups that test.
        seed: of the splits; split `k` is the same however many there are.

    Raises:
        UserError: if that leaves no group to train on, or to test on.
    """
    count = len(np.unique(groups))
    tested = round(test_fraction * count)
    if not 0 < tested < count:
        raise UserError(
            f"dataset.group: {test_fraction:g} of {count} groups leaves none to "
            f"{'train' if tested else 'test'} on; choose another dataset.test_fraction."
        )
    found = []
    for k in range(n_splits):
        out = np.random.RandomState([seed, k]).permutation(count)[:tested]
        is_tested = np.isin(groups, out)
        found.append(Split(k, np.flatnonzero(~is_tested), np.flatnonzero(is_tested)))
    _check_training(found)
    return tuple(found)


def timed_splits(times: np.ndarray, n_splits: int, test_fraction: float) -> tuple[Split, ...]:
    """Splits that train on what came before what they test: windows that roll towards the end.

    The last window ends with the last row and each has `test_fraction` of the rows. Rows of one
    moment are never on both sides.

    Args:
        times: `[N]`, numbers that order the rows.
        n_splits: how many windows, one before the other.
        test_fraction: share of the rows in each.

    Raises:
        UserError: if the windows leave too few rows before the first of them.
    """
    rows, order = len(times), np.argsort(times, kind="stable")
    window = max(1, round(test_fraction * rows))
    starts = [rows - window * (n_splits - k) for k in range(n_splits)]
    if starts[0] < LEAST_TRAINING_ROWS:
        raise UserError(
            f"dataset.n_splits: {n_splits} windows of {window} rows leave {max(starts[0], 0)} of "
            f"{rows} to train on; choose fewer, or a smaller dataset.test_fraction."
        )
    found = []
    for k, start in enumerate(starts):
        tested = order[start : start + window]
        found.append(Split(k, order[:start][times[order[:start]] < times[tested[0]]], tested))
    _check_training(found)
    return tuple(found)


def given_split(tested: np.ndarray) -> tuple[Split, ...]:
    """The one split that a column tells.

    Args:
        tested: `[N]`, 1 for the rows of the test part and 0 for the others.

    Raises:
        UserError: if it holds anything else, or all rows are on one side.
    """
    if not np.isin(tested, (0.0, 1.0)).all() or np.ptp(tested) == 0:
        raise UserError(
            "dataset.test: the column must hold 1 (or true) for rows to test on and 0 (or false) "
            "for those to train on, some of both."
        )
    split = Split(0, np.flatnonzero(tested == 0), np.flatnonzero(tested == 1))
    _check_training([split])
    return (split,)


def _check_training(splits: list[Split]) -> None:
    least = min(len(split.train) for split in splits)
    if least < LEAST_TRAINING_ROWS:
        raise UserError(
            f"dataset.test_fraction: a split would have {least} rows to train on, and at least "
            f"{LEAST_TRAINING_ROWS} are needed."
        )
