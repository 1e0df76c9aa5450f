"""Rounding of scores and standard errors."""

from __future__ import annotations

import math

import pytest

from bnnbench.report.formatting import MISSING
from bnnbench.report.paper.paper_table import Cell
from bnnbench.report.paper.rounding import common_decimals, decimals_of, format_cell


def cell(mean: float, stderr: float = math.nan, decimals: int | None = None) -> Cell:
    return Cell(mean, stderr, math.nan, decimals=decimals)


@pytest.mark.parametrize(
    ("error", "decimals"),
    [
        # The examples of the Review of Particle Physics: 0.827 ± 0.119, 0.367, 0.95.
        (0.119, 2), (0.367, 1), (0.354, 2), (0.949, 1), (0.95, 1), (0.096, 2), (0.00079, 4),
        (12.3, 0), (1.23, 1), (4.0, 0), (350.0, 0), (0.0999, 2),
    ],
)  # fmt: skip
def test_errors_have_one_digit_or_two(error: float, decimals: int) -> None:
    assert decimals_of(error) == decimals


def test_compared_cells_have_the_same_decimals() -> None:
    cells = [cell(3.0, 0.23), cell(2.0, 0.2), cell(5.0, 0.4), cell(1.0)]
    assert common_decimals(cells) == 2
    assert [format_cell(one, 2) for one in cells] == [
        ("3.00", "0.23"), ("2.00", "0.20"), ("5.00", "0.40"), ("1.00", ""),
    ]  # fmt: skip
    assert common_decimals([cell(1.0)]) is None


def test_errors_are_not_rounded_to_zero_and_digits_not_invented() -> None:
    assert format_cell(cell(0.0712, 0.0021), 1) == ("0.071", "0.002")
    assert format_cell(cell(2.9, 0.6, decimals=1), 3) == ("2.9", "0.6")
    assert format_cell(cell(0.001, 0.0001, decimals=3), 2) == ("0.0010", "0.0001")
    assert format_cell(cell(1234.5), None) == ("1234", "")  # four digits where no error is known
    assert format_cell(cell(0.051234), None) == ("0.05123", "")
    assert format_cell(cell(0.0, 0.0), None) == ("0", "")
    assert format_cell(cell(math.nan), 2) == (MISSING, "")
