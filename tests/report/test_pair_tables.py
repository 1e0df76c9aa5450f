"""Cells of tables of pairs."""

from __future__ import annotations

import pytest

from bnnbench.report.pair_tables import difference_cell


@pytest.mark.parametrize(
    ("difference", "interval", "mean", "expected"),
    [
        (-1e-8, 2.2e-7, 2.859, "0"),
        (4e-8, 1.2e-7, 2.859, "0"),
        (4e-8, 0.1, 2.859, "+0.00 ± 0.10"),
        (-0.2, 0.31, 2.859, "-0.20 ± 0.31"),
        (4e-8, 1.2e-8, 1e-7, "+0.000000040 ± 0.000000012"),
    ],
)
def test_differences_by_rounding_are_zero(
    difference: float, interval: float, mean: float, expected: str
) -> None:
    pair = {"difference": difference, "interval": interval, "mean_b": mean}
    assert difference_cell(pair) == expected
