"""Layout of a paper's table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.paper import make_paper_table

from bnnbench.report.blocks import MISSING
from bnnbench.report.paper.latex_cells import (
    PADDED,
    SIUNITX,
    ColumnShape,
    NumberFormat,
    PrintedCell,
    text_ems,
)
from bnnbench.report.paper.latex_table import COLUMN_WIDTH, PAGE_WIDTH, best_layout, layouts


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
    assert layout.wide and layout.fits_height and layout.inches <= PAGE_WIDTH


def test_the_narrowest_layout_is_used_if_none_fits() -> None:
    table = make_paper_table(sets=16, methods=16)
    layout = best_layout(table)
    ways = [replace(way, size="scriptsize") for way in layouts(table)]
    assert not layout.fits_width and layout.inches == min(way.inches for way in ways)


@pytest.mark.parametrize(
    ("sets", "methods", "high"), [(1, 30, True), (5, 30, True), (2, 100, False), (5, 80, False)]
)
def test_a_table_with_many_methods_fits_a_page_if_it_can(
    sets: int, methods: int, high: bool
) -> None:
    layout = best_layout(make_paper_table(sets=sets, methods=methods))
    assert layout.fits_width and layout.fits_height == high


def test_every_layout_has_every_cell() -> None:
    table = make_paper_table(sets=3, methods=2)
    for way in layouts(table):
        cells = [cell for block in way.blocks for row in block.rows for cell in row]
        assert len(cells) == 12 and len(way.blocks) == 2
        assert {len(row) for block in way.blocks for row in block.rows} == {len(way.column_labels)}


def test_data_sets_are_columns_if_their_errors_differ_by_orders_of_magnitude() -> None:
    table = make_paper_table(sets=3, metrics=("rmse",))
    assert best_layout(table).corner == "Data set"
    scaled = {
        key: replace(cell, mean=cell.mean / 1000, stderr=cell.stderr / 1000)
        if key[0] == "set-1"
        else cell
        for key, cell in table.cells.items()
    }
    layout = best_layout(replace(table, cells=scaled))
    assert layout.corner == "Method"
    assert [(cell.mean, cell.error) for cell in layout.blocks[0].rows[0]] == [
        ("3.57", "0.23"), ("0.00357", "0.00023"), ("3.57", "0.23"),
    ]  # fmt: skip


@pytest.mark.parametrize("place", range(4))
def test_a_column_of_a_metric_has_one_number_of_decimals(place: int) -> None:
    table = make_paper_table(sets=3, methods=3)
    scaled = {
        key: replace(cell, stderr=cell.stderr / 2 ** (3 * count))
        for count, (key, cell) in enumerate(table.cells.items())
    }
    for block in list(layouts(replace(table, cells=scaled)))[place].blocks:
        for column in zip(*block.rows, strict=True):
            numbers = [text for cell in column for text in (cell.mean, cell.error)]
            assert len({len(text.partition(".")[2]) for text in numbers}) == 1
            assert all(float(cell.error) > 0 for cell in column)


@pytest.mark.parametrize(
    ("cells", "shape"),
    [
        ([PrintedCell("3.57", "0.23")], ColumnShape("", "0", ".00", "0", ".00")),
        ([PrintedCell("-3.5", "10.2"), PrintedCell("12.51", "0.23")],
         ColumnShape("-", "00", ".00", "00", ".00")),
        ([PrintedCell("12", "3", mark="‡"), PrintedCell(MISSING)],
         ColumnShape("", "00", "", "0", "", marked=True)),
        ([PrintedCell("1.5")], ColumnShape("", "0", ".0")),
        ([PrintedCell(MISSING)], ColumnShape()),
    ],
)  # fmt: skip
def test_a_shape_has_the_longest_parts(cells: list[PrintedCell], shape: ColumnShape) -> None:
    assert ColumnShape.of(cells) == shape


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("mc_dropout_x1", 65.0), ("Vadam (ours)", 60.1), ("concrete", 36.1), ("Data set", 37.1),
        ("wine, 50 % of_rows", 82.6), (r"$\alpha$-VI", 21.0), ("WWW & MMM", 73.0),
    ],
)  # fmt: skip
def test_widths_of_text_are_roughly_those_of_latex(text: str, points: float) -> None:
    """As pdflatex measures them at ten points."""
    assert points <= 10 * text_ems(text) <= 1.12 * points


@pytest.mark.parametrize(("numbers", "points"), [(PADDED, 52.3), (SIUNITX, 54.9)])
def test_each_format_of_numbers_has_its_own_width(numbers: NumberFormat, points: float) -> None:
    """As pdflatex measures bold digits at ten points."""
    shape = ColumnShape.of([PrintedCell("3.57", "0.23")])
    assert points <= 10 * numbers.ems(shape) <= 1.02 * points
