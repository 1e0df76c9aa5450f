"""Checks of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.checks import check_numbers

COUNT = np.arange(60)


@pytest.mark.parametrize(
    "numbers",
    [
        5e13 + COUNT / 64,
        -3e15 + COUNT,
        1.7e18 + 512.0 * COUNT,
        1e-30 * (1 + 1e-14 * COUNT),
        np.where(COUNT % 2, np.nan, 5e13 + COUNT / 64),
    ],
)
def test_little_variation_around_a_large_number_is_refused(numbers: np.ndarray) -> None:
    with raises_user_error("X", "too_little_spread"):
        check_numbers("x", numbers, "X")


@pytest.mark.parametrize(
    "numbers",
    [
        np.full(60, 5e13),
        np.where(COUNT % 2, 0.1 + 0.2, 0.3),
        np.array([np.random.default_rng(k).permutation([0.1, 0.2, 0.7]).sum() for k in COUNT]),
        5e13 + COUNT * 1e3,
        1.7e9 + COUNT / 64,
        np.zeros(60),
        COUNT * 1e-90,
    ],
)
def test_rounding_and_visible_variation_are_accepted(numbers: np.ndarray) -> None:
    check_numbers("x", numbers, "X")
