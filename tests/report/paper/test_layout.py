"""Which way round a table fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.paper import made

from bnnbench.report.paper.layout import COLUMN, PAGE, best_layout, ems, layouts


def test_a_small_table_has_data_sets_as_rows_in_one_column() -> None:
    layout = best_layout(made(sets=3, methods=2, metrics=("rmse",)))
    assert (layout.corner, layout.stacked, layout.wide, layout.size) == (
        "Data set", False, False, "small",
    )  # fmt: skip
    assert layout.heads == ("method-0", "method-1") and len(layout.stubs) == 3


def test_methods_are_rows_where_data_sets_are_few() -> None:
    layout = best_layout(made(sets=2, methods=7, metrics=("rmse",)))
    assert layout.corner == "Method" and not layout.wide and len(layout.stubs) == 7


def test_metrics_stand_below_each_other_before_a_page_is_taken() -> None:
    layout = best_layout(made(sets=9, methods=3))
    assert layout.stacked and not layout.wide and layout.inches <= COLUMN


def test_nine_data_sets_and_six_methods_fit_a_page() -> None:
    layout = best_layout(made(sets=9, methods=6))
    assert layout.wide and layout.fits and layout.inches <= PAGE


def test_of_what_is_too_wide_the_narrowest_is_taken() -> None:
    table = made(sets=16, methods=16)
    layout = best_layout(table)
    ways = [replace(way, size="scriptsize") for way in layouts(table)]
    assert not layout.fits and layout.inches == min(way.inches for way in ways)


def test_every_way_has_every_cell() -> None:
    table = made(sets=3, methods=2)
    for way in layouts(table):
        texts = sorted(cell.text for block in way.blocks for row in block.rows for cell in row)
        assert len(texts) == 12 and len(way.blocks) == 2
        assert {len(row) for block in way.blocks for row in block.rows} == {len(way.heads)}


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
