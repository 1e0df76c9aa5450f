"""The choice of the table's layout."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.paper import make_paper_table

from bnnbench.report.paper.layout import COLUMN_WIDTH, PAGE_WIDTH, best_layout, ems, layouts


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
