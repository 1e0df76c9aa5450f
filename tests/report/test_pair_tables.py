"""Cells of tables of pairs."""

from __future__ import annotations

import pytest

from bnnbench.report.pair_tables import difference_cell, p_value_text


@pytest.mark.parametrize(
    ("difference", "half", "mean", "expected"),
    [
        (-1e-8, 2.2e-7, 2.859, "0"),
        (4e-8, 1.2e-7, 2.859, "0"),
        (4e-8, 0.1, 2.859, "+0.00 [-0.10, 0.10]"),
        (-0.2, 0.31, 2.859, "-0.20 [-0.51, 0.11]"),
        (4e-8, 1.2e-8, 1e-7, "+0.000000040 [0.000000028, 0.000000052]"),
    ],
)
def test_differences_by_rounding_are_zero(
    difference: float, half: float, mean: float, expected: str
) -> None:
    ends = {"low": difference - half, "high": difference + half}
    assert difference_cell({"difference": difference, "mean_b": mean, **ends}) == expected


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (1.0, "1.000"), (0.0512, "0.051"), (0.0504, "0.05040"), (0.04999, "0.04999"),
        (0.0012, "0.001"), (0.0009, "<0.001"), (0.0, "<0.001"),
    ],
)  # fmt: skip
def test_a_printed_p_value_is_on_the_same_side_of_the_level(p: float, expected: str) -> None:
    assert p_value_text(p) == expected
