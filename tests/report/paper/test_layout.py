"""Layout of a paper's table, and rounding of its numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from support.paper import make_paper_table

from bnnbench.report.blocks import MISSING
from bnnbench.report.paper.layout import (
    COLUMN_WIDTH,
    PAGE_WIDTH,
    best_layout,
    common_decimals,
    decimals_of,
    ems,
    format_cell,
    layouts,
)
from bnnbench.report.paper.paper_table import ScoreCell


def test_a_small_table_has_data_sets_as_rows_in_one_column() -> None:
    layout = best_layout(make_paper_table(sets=3, methods=2, metrics=("rmse",)))
    assert (layout.corner, layout.stacked, layout.wide, layout.size) == (
        "Data set", False, False, "small",
    )  # fmt: skip
    assert layout.column_labels == ("method-0", "method-1") and len(layout.row_labels) == 3


def test_methods_are_rows_if_there_are_few_data_sets() -> None:
    layout = best_layout(make_paper_table(sets=2, methods=7, metrics=("rmse",)))
    assert layout.corner == "Method" and not layout.wide and len(layout.row_labels) == 7


def test_metrics_are_stacked_before_a_full_page_is_used() -> None:
    layout = best_layout(make_paper_table(sets=9, methods=3))
    assert layout.stacked and not layout.wide and layout.inches <= COLUMN_WIDTH


def test_nine_data_sets_and_six_methods_fit_a_page() -> None:
    layout = best_layout(make_paper_table(sets=9, methods=6))
    assert layout.wide and layout.fits and layout.inches <= PAGE_WIDTH


def test_the_narrowest_layout_is_used_if_none_fits() -> None:
    table = make_paper_table(sets=16, methods=16)
    layout = best_layout(table)
    ways = [replace(way, size="scriptsize") for way in layouts(table)]
    assert not layout.fits and layout.inches == min(way.inches for way in ways)


def test_every_layout_has_every_cell() -> None:
    table = make_paper_table(sets=3, methods=2)
    for way in layouts(table):
        texts = sorted(cell.text for block in way.blocks for row in block.rows for cell in row)
        assert len(texts) == 12 and len(way.blocks) == 2
        assert {len(row) for block in way.blocks for row in block.rows} == {len(way.column_labels)}


@pytest.mark.parametrize(
    ("text", "bold", "points"),
    [
        ("3.57±0.23", False, 47.8), ("3.57±0.23", True, 52.3), ("-3.312±0.018", False, 65.6),
        ("mc_dropout_x1", False, 65.0), ("Vadam (ours)", False, 60.1), ("concrete", False, 36.1),
        ("Data set", False, 37.1),
    ],
)  # fmt: skip
def test_widths_are_roughly_those_of_latex(text: str, bold: bool, points: float) -> None:
    """As pdflatex measures them at ten points, numbers in math mode."""
    assert 10 * ems(text, bold) == pytest.approx(points, rel=0.07)


def cell(mean: float, stderr: float = math.nan, decimals: int | None = None) -> ScoreCell:
    return ScoreCell(mean, stderr, math.nan, decimals=decimals)


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
