"""Warnings about suspicious tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bnnbench.data.own_table.columns.advice import table_warnings
from bnnbench.data.splits import seeded_splits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X.sum(1) + RNG.normal(size=200)


def warnings_about(inputs: np.ndarray, targets: np.ndarray) -> list[str]:
    names = [f"x{k}" for k in range(inputs.shape[1])]
    splits = seeded_splits(len(targets), 5, 0.1, 0)
    return table_warnings(names, inputs, "y", targets, splits)


def test_an_ordinary_table_has_no_warnings() -> None:
    assert warnings_about(X, Y) == []


def with_column(column: np.ndarray) -> np.ndarray:
    return np.column_stack([X, column])


@pytest.mark.parametrize(
    ("inputs", "targets", "words"),
    [
        (with_column(np.full(200, 3.0)), Y, "x3 is constant"),
        (with_column(np.full(200, np.nan)), Y, "x3 is constant"),
        (with_column(X[:, 1]), Y, "x3 duplicates x1"),
        (X, (Y > 0) * 1.0, "regression"),
        (X, np.where(Y > 0, 10.5, 20.25), "regression"),
        (X, np.exp(4 * Y), "orders of magnitude"),
        (X[:99], Y[:99], "only 99 rows"),
        (np.concatenate([X, X[:150]]), np.concatenate([Y, Y[:150]]), "150 rows are duplicates"),
        (np.repeat(X[:100], 2, 0)[99:], np.repeat(Y[:100], 2)[99:], "50 rows are duplicates"),
    ],
)
def test_warnings(inputs: np.ndarray, targets: np.ndarray, words: str) -> None:
    (only,) = warnings_about(inputs, targets)
    assert words in only and not only.endswith(".")


@pytest.mark.parametrize("copies", [1, 3])
def test_a_few_duplicates_are_no_warning(copies: int) -> None:
    rows = np.r_[np.arange(200), np.arange(200), :copies][200:]
    big, target = np.tile(X, (4, 1)) + np.arange(4).repeat(200)[:, None], np.tile(Y, 4)
    chosen = np.r_[:800, rows[-copies:]]
    assert warnings_about(big[chosen], target[chosen]) == []


def test_a_logarithm_is_not_offered_twice() -> None:
    splits = seeded_splits(len(Y), 5, 0.1, 0)
    assert table_warnings(["a", "b", "c"], X, "y", np.exp(4 * Y), splits, log_target=True) == []


@pytest.mark.parametrize(
    ("values", "warns"),
    [
        ([0, 1, 2], True),
        ([-1, 0, 1], True),
        ([3, 4, 5, 6, 8], True),
        ([1, 2, 3, 4, 5, 6], True),
        (range(10), True),
        (range(12), False),  # counts
        ([0.5, 1, 1.5], False),
        ([100, 200, 300], False),
        ([20, 40, 80, 160], False),
        (range(150), False),
    ],
)
def test_a_few_integers_may_be_classes(values: Sequence[float], warns: bool) -> None:
    targets = np.resize(np.array(values, float), 200)[RNG.permutation(200)]
    found = warnings_about(X, targets)
    assert any("regression" in warning for warning in found) == warns


def test_a_short_table_of_integers_has_no_classes() -> None:
    assert not any("regression" in text for text in warnings_about(X[:10], np.arange(10.0)))


@pytest.mark.parametrize("copies", [[0], [0, 1], [0, 0, 2]])
def test_repeated_columns_get_one_warning(copies: list[int]) -> None:
    (only,) = warnings_about(np.column_stack([X, X[:, copies]]), Y)
    assert all(f"x{3 + k} duplicates x{of}" in only for k, of in enumerate(copies))
