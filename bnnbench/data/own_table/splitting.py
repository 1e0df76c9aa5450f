"""Splits by group, by time or by a column of the table."""

from __future__ import annotations

import numpy as np

from bnnbench.data.errors import invalid
from bnnbench.data.splits import MIN_TRAINING_ROWS
from bnnbench.types import Split, UserError

DEFAULT_WINDOWS = 5
"""Default number of splits by time."""


def grouped_splits(
    groups: np.ndarray, n_splits: int, test_fraction: float, seed: int
) -> tuple[Split, ...]:
    """Draw random splits in which the rows of a group stay together.

    Args:
        groups: `[N]`, the group index of each row.
        n_splits: number of splits.
        test_fraction: fraction of the groups in each test part.
        seed: seed of the splits; split `k` does not depend on `n_splits`.

    Raises:
        UserError: if no group is left for training or for testing.
    """
    count = len(np.unique(groups))
    tested = round(test_fraction * count)
    if not 0 < tested < count:
        raise UserError(
            f"dataset.test_fraction: {test_fraction:g} of {count} groups leaves none for "
            f"{'training' if tested else 'testing'}; choose another fraction.",
            setting="dataset.test_fraction",
            code="no_training_group" if tested else "no_test_group",
        )
    splits = []
    for k in range(n_splits):
        out = np.random.RandomState([seed, k]).permutation(count)[:tested]
        is_tested = np.isin(groups, out)
        splits.append(Split(k, np.flatnonzero(~is_tested), np.flatnonzero(is_tested)))
    _check_training(splits)
    return tuple(splits)


def time_splits(times: np.ndarray, n_splits: int, test_fraction: float) -> tuple[Split, ...]:
    """Split by time: consecutive test windows, each with all earlier rows as its training part.

    The last window ends with the last row. Rows with equal times are never on both sides.

    Args:
        times: `[N]`, numbers that order the rows.
        n_splits: number of windows.
        test_fraction: fraction of all rows in each window.

    Raises:
        UserError: if too few rows precede the first window.
    """
    rows, order = len(times), np.argsort(times, kind="stable")
    window = max(1, round(test_fraction * rows))
    starts = [rows - window * (n_splits - k) for k in range(n_splits)]
    if starts[0] < MIN_TRAINING_ROWS:
        raise UserError(
            f"dataset.n_splits: {n_splits} test windows of {window} rows leave "
            f"{max(starts[0], 0)} of {rows} rows for training; choose fewer, or a smaller "
            "dataset.test_fraction.",
            setting="dataset.n_splits",
            code="too_few_training_rows",
        )
    splits = []
    for k, start in enumerate(starts):
        tested = order[start : start + window]
        splits.append(Split(k, order[:start][times[order[:start]] < times[tested[0]]], tested))
    _check_training(splits)
    return tuple(splits)


def split_from_column(tested: np.ndarray) -> tuple[Split, ...]:
    """Return the single split that a column defines.

    Args:
        tested: `[N]`, 1 for test rows and 0 for training rows.

    Raises:
        UserError: if there are other values, or all rows are on one side.
    """
    if not np.isin(tested, (0.0, 1.0)).all() or np.ptp(tested) == 0:
        raise invalid(
            "test",
            "invalid_values",
            "the column must hold 1 (or true) for test rows and 0 (or false) for "
            "training rows, and both must occur.",
        )
    split = Split(0, np.flatnonzero(tested == 0), np.flatnonzero(tested == 1))
    _check_training([split])
    return (split,)


def _check_training(splits: list[Split]) -> None:
    least = min(len(split.train) for split in splits)
    if least < MIN_TRAINING_ROWS:
        raise invalid(
            "test_fraction",
            "too_few_training_rows",
            f"a split would have {least} training rows, and at least "
            f"{MIN_TRAINING_ROWS} are needed.",
        )
