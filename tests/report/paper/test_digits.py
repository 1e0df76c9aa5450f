"""How many digits are printed."""

from __future__ import annotations

import math

import pytest

from bnnbench.report.numbers import MISSING
from bnnbench.report.paper.contents import Cell
from bnnbench.report.paper.digits import common_decimals, decimals_of, printed


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


def test_cells_that_are_compared_have_the_same_decimals() -> None:
    cells = [cell(3.0, 0.23), cell(2.0, 0.2), cell(5.0, 0.4), cell(1.0)]
    assert common_decimals(cells) == 2
    assert [printed(one, 2) for one in cells] == [
        ("3.00", "0.23"), ("2.00", "0.20"), ("5.00", "0.40"), ("1.00", ""),
    ]  # fmt: skip
    assert common_decimals([cell(1.0)]) is None


def test_no_error_is_rounded_away_and_no_digit_made_up() -> None:
    assert printed(cell(0.0712, 0.0021), 1) == ("0.071", "0.002")
    assert printed(cell(2.9, 0.6, decimals=1), 3) == ("2.9", "0.6")
    assert printed(cell(0.001, 0.0001, decimals=3), 2) == ("0.0010", "0.0001")
    assert printed(cell(1234.5), None) == ("1234", "")  # four digits where no error is known
    assert printed(cell(0.051234), None) == ("0.05123", "")
    assert printed(cell(0.0, 0.0), None) == ("0", "")
    assert printed(cell(math.nan), 2) == (MISSING, "")
