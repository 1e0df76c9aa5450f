"""Warnings about suspicious tables."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.data.own_table.table_warnings import table_warnings
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
        (with_column(np.exp(Y)), Y, "x3 alone determines y (rank correlation 1.0000)"),
        (with_column(np.where(X[:, 0] > 1, np.nan, -Y)), Y, "x3 alone determines y"),
        (X, (Y > 0) * 1.0, "y has only two values"),
        (X, np.exp(4 * Y), "orders of magnitude"),
        (X[:99], Y[:99], "only 99 rows"),
        (np.concatenate([X, X[:150]]), np.concatenate([Y, Y[:150]]), "150 rows are duplicates"),
    ],
)
def test_warnings(inputs: np.ndarray, targets: np.ndarray, words: str) -> None:
    (only,) = warnings_about(inputs, targets)
    assert words in only and not only.endswith(".")
