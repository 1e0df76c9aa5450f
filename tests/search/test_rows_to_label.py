"""Rules that choose rows, where the answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.search.rows_to_label import choose_by_distance, choose_by_variance


def test_choices_by_variance_are_d_optimal() -> None:
    """For a linear model every gain of log det is log(1 + beta x' S x), with S refitted."""
    random, beta = np.random.default_rng(0), 4.0
    rows, precision = random.normal(size=(40, 5)), np.eye(5)
    covariance, noise = rows @ rows.T, np.full(40, 1 / beta)
    chosen, variances = choose_by_variance(covariance, noise, 12)
    assert len({*chosen}) == 12
    for row, variance in zip(chosen, variances, strict=True):
        left = np.einsum("md,de,me->m", rows, np.linalg.inv(precision), rows)
        assert left[row] == pytest.approx(variance, abs=1e-10)
        assert left[row] >= np.delete(left, chosen).max() - 1e-10
        before = np.linalg.slogdet(precision)[1]
        precision += beta * np.outer(rows[row], rows[row])
        gain = np.linalg.slogdet(precision)[1] - before
        assert gain == pytest.approx(np.log1p(beta * variance), abs=1e-10)


def test_independent_rows_are_chosen_by_variance_alone() -> None:
    chosen, variances = choose_by_variance(np.diag([1.0, 3, 2, 3]), np.ones(4), 4)
    assert (chosen.tolist(), variances.tolist()) == ([1, 3, 2, 0], [3, 3, 2, 1])


def test_choices_by_distance_spread() -> None:
    pool = np.array([[1.0], [10], [10], [4], [6]])
    chosen, distances = choose_by_distance(pool, np.zeros((1, 1)), 5)
    assert (chosen.tolist(), distances.tolist()) == ([1, 3, 4, 0, 2], [10, 4, 2, 1, 0])
