"""Rounding of the numbers in a paper's table."""

from __future__ import annotations

import math

import pytest

from bnnbench.notes import decimals_of
from bnnbench.report.blocks import MISSING
from bnnbench.report.paper.latex_cells import column_decimals, format_cell
from bnnbench.report.paper.paper_table import ScoreCell


def cell(mean: float, stderr: float = math.nan, decimals: int | None = None) -> ScoreCell:
    return ScoreCell(mean, stderr, math.nan, decimals=decimals)


@pytest.mark.parametrize(
    ("value", "digits", "decimals"),
    [
        (0.119, 2, 2), (0.0996, 2, 2), (0.0994, 2, 3), (0.96, 2, 2), (0.996, 2, 1), (1.23, 2, 1),
        (12.3, 2, 0), (350.0, 2, 0), (0.00079, 2, 5), (0.00079, 1, 4), (4.0, 1, 0), (9.6, 1, 0),
        (0.051234, 4, 5),
    ],
)  # fmt: skip
def test_decimals_show_the_significant_digits(value: float, digits: int, decimals: int) -> None:
    assert decimals_of(value, digits) == decimals


@pytest.mark.parametrize(
    ("cells", "decimals"),
    [
        ([cell(3.0, 0.23), cell(2.0, 0.2), cell(5.0, 0.04), cell(1.0)], 2),
        ([cell(3.0, 0.23), cell(2.0, 0.023)], 2),  # of two, the larger error
        ([cell(3.0, 0.23), cell(2.0, 0.2), cell(5.0, 0.0021)], 3),  # no error is rounded to zero
        ([cell(300.0, 23.0), cell(2.0, 2.0)], 0),
        ([cell(3.0, 0.0), cell(2.0, 0.23)], 2),
        ([cell(1234.5)], 0),  # four digits where no error is known
        ([cell(0.051234), cell(math.nan)], 5),
        ([cell(0.0, 0.0)], 0),
        ([], 0),
    ],
)
def test_a_column_has_the_decimals_of_its_median_error(
    cells: list[ScoreCell], decimals: int
) -> None:
    assert column_decimals(cells) == decimals


@pytest.mark.parametrize(
    ("score", "decimals", "printed"),
    [
        (cell(3.567, 0.2345), 2, ("3.57", "0.23")),
        (cell(1.0), 2, ("1.00", "")),
        (cell(2.9, 0.6, decimals=1), 3, ("2.9", "0.600")),  # no digit of the mean is invented
        (cell(2.915, 0.6, decimals=3), 1, ("2.9", "0.6")),
        (cell(math.nan), 2, (MISSING, "")),
    ],
)
def test_cells(score: ScoreCell, decimals: int, printed: tuple[str, str]) -> None:
    assert format_cell(score, decimals) == printed
