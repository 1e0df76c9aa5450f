"""Markdown, LaTeX and terminal renderers."""

from __future__ import annotations

import io
import math
import re

import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.console import Console
from support.rendered import Rendered

from bnnbench.report.blocks import (
    MISSING,
    Column,
    DataFile,
    FigureBlock,
    Heading,
    ItemList,
    Paragraph,
    TableBlock,
    columns,
    label_columns,
    number_columns,
    score,
    tables_by_dataset,
)
from bnnbench.report.renderers import latex, markdown, terminal

COLUMNS = (*label_columns("Method"), *number_columns("RMSE [m]"), Column("Source", "text"))
ROWS = (("my_method", "5.0 ± 1.1", "A & B 2018"), ("b · c", MISSING, ""))
PARTS = tuple(
    TableBlock(COLUMNS, ROWS, "results", group, "a title", "mean ± 5 %")
    for group in ("boston", "yacht")
)


def test_markdown_renders_every_block() -> None:
    blocks = (
        Heading("Results", 1),
        Paragraph("Text."),
        ItemList(("one", "two")),
        PARTS[0],
        FigureBlock("rmse", "What it shows", Figure),
        DataFile("results", pd.DataFrame({"a": [1]}), "Everything:"),
    )
    page = markdown.page(blocks)
    assert Rendered(page).faults() == []
    assert page.startswith("# Results\n\nText.\n\n- one\n- two\n\n| Method ")
    assert "|:----------|-----------:|:-----------|" in page
    assert page.endswith(
        "![rmse](rmse.png)\n\nWhat it shows.\n\nEverything: [results.csv](results.csv).\n"
    )


def test_pipes_in_cells_are_escaped() -> None:
    table = TableBlock(label_columns("Claim", "Source"), (("q(z|x) is wide", "1.1"),))
    assert markdown.table(table).splitlines()[2].count(" | ") == 1
    assert "q(z\\|x)" in markdown.table(table)


def test_texts_are_no_html() -> None:
    rows = (("<script>alert(1)</script>", "1 < 2", "<img src=x>"),)
    text = markdown.page([TableBlock(COLUMNS, rows, "results"), Paragraph("<b>bold</b>")])
    assert not re.search("<[a-z/]", text) and "1 < 2" in text


def test_latex_joins_the_tables_of_one_name() -> None:
    nameless = TableBlock(COLUMNS, ROWS)
    text = latex.paper([Heading("x"), PARTS[0], nameless, PARTS[1]])
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    assert r"\begin{longtable}{lrp{45mm}}" in text and r"\label{tab:results}" in text
    assert r"\caption{mean $\pm$ 5 \%}" in text
    assert r"\quad my\_method & $5.0 \pm 1.1$ & A \& B 2018 \\" in text
    assert r"\quad b $\cdot$ c & -- &  \\" in text
    assert text.index(r"\textit{boston}") < text.index(r"\textit{yacht}")


def test_a_terminal_shows_groups_title_and_caption() -> None:
    console = Console(width=60, file=io.StringIO())
    with console.capture() as capture:
        console.print(terminal.Grid(PARTS))
        console.print(terminal.Grid([TableBlock(COLUMNS, ROWS)]))
    first, second = capture.get().split("yacht")
    assert "a title" in first and "boston" in first and "RMSE [m]" in first
    assert "mean ± 5 %" in second and second.count("my_method") == 2


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_a_wide_table_goes_on_below_with_its_names(width: int) -> None:
    names = [f"deep_ensemble_2017_{k}" for k in range(3)]
    heads = (*label_columns("Method"), *number_columns(*(f"number{k}" for k in range(12))))
    rows = tuple((name, *(f"{k}.{name[-1]}25" for k in range(12))) for name in names)
    console = Console(width=width, file=io.StringIO())
    with console.capture() as capture:
        console.print(terminal.Grid([TableBlock(heads, rows)]))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width and lines.count(lines[-1]) < len(lines)
    for name, row in zip(names, rows, strict=True):
        found = [line.split() for line in lines if line.split()[:1] == [name]]
        assert [cell for one in found for cell in one[1:]] == [*row[1:]]
    assert len([line for line in lines if "Method" in line]) == len(found) > (width < 120)


def test_names_without_room_for_another_column_are_whole() -> None:
    console = Console(width=40, file=io.StringIO())
    block = TableBlock(
        (*label_columns("a", "b"), *number_columns("n")), (("a" * 25, "b" * 30, "7"),)
    )
    with console.capture() as capture:
        console.print(terminal.Grid([block]))
    assert capture.get().split("\n")[:3] == [f"- a: {'a' * 25}", f"  b: {'b' * 30}", "  n: 7"]


def test_prose_is_folded_on_a_terminal_only() -> None:
    text = "one " * 20 + "`bnnbench run --cfg job` and " + "/folder" * 20
    for wrapped in (True, False):
        console = Console(width=50, file=io.StringIO(), soft_wrap=not wrapped)
        with console.capture() as capture:
            console.print(terminal.Prose(text), crop=False)
        lines = capture.get().splitlines()
        assert (len(lines) > 1) == wrapped
        assert any("`bnnbench run --cfg job`" in line for line in lines)
        assert lines[-1].endswith("/folder" * 20)


def test_rows_are_filled_into_tables_by_group() -> None:
    heads = columns({"Method": "{label}"}, {"n": "{n:g}", "RMSE": score("rmse")})
    rows = pd.DataFrame(
        [("b", "x", 1.0, 2.0, 0.5), ("a", "y", math.nan, 3.0, math.nan), ("b", "z", 2.0, 1.0, 0.1)],
        columns=["dataset", "label", "n", "rmse_mean", "rmse_stderr"],
    )
    assert list(tables_by_dataset("All", "Means.", heads, rows)) == [
        Heading("All"), Paragraph("Means."),
        Heading("b", 3), TableBlock(heads, (("x", "1", "2.00 ± 0.50"), ("z", "2", "1.00 ± 0.10"))),
        Heading("a", 3), TableBlock(heads, (("y", MISSING, "3"),)),
    ]  # fmt: skip
