"""What looks wrong with a table is said."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.data.own_table.remarks import remarks_on
from bnnbench.data.splits import seeded_splits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X.sum(1) + RNG.normal(size=200)


def said(inputs: np.ndarray, targets: np.ndarray) -> list[str]:
    names = [f"x{k}" for k in range(inputs.shape[1])]
    splits = seeded_splits(len(targets), 5, 0.1, 0)
    return remarks_on(names, inputs, "y", targets, splits)


def test_nothing_is_said_of_an_ordinary_table() -> None:
    assert said(X, Y) == []


def with_column(column: np.ndarray) -> np.ndarray:
    return np.column_stack([X, column])


@pytest.mark.parametrize(
    ("inputs", "targets", "words"),
    [
        (with_column(np.full(200, 3.0)), Y, "x3 is the same in every row"),
        (with_column(np.full(200, np.nan)), Y, "x3 is the same in every row"),
        (with_column(X[:, 1]), Y, "x3 repeats x1"),
        (with_column(np.exp(Y)), Y, "x3 alone tells y (rank correlation 1.0000)"),
        (with_column(np.where(X[:, 0] > 1, np.nan, -Y)), Y, "x3 alone tells y"),
        (X, (Y > 0) * 1.0, "y has two values only"),
        (X, np.exp(4 * Y), "orders of magnitude"),
        (X[:99], Y[:99], "99 rows are few"),
        (np.concatenate([X, X[:150]]), np.concatenate([Y, Y[:150]]), "150 rows repeat others"),
    ],
)
def test_what_is_said(inputs: np.ndarray, targets: np.ndarray, words: str) -> None:
    (only,) = said(inputs, targets)
    assert words in only and not only.endswith(".")
