"""The LaTeX table is well formed and compiles, if TeX is installed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.paper import make_paper_table
from support.runs import lose_splits, make_run
from support.tex import compile_tex, has_tex

from bnnbench.report.blocks import MISSING
from bnnbench.report.paper.latex_cells import (
    PADDED,
    SIUNITX,
    ColumnShape,
    NumberFormat,
    PrintedCell,
    escaped,
)
from bnnbench.report.paper.latex_table import Layout, best_layout, latex_document, layouts
from bnnbench.report.paper.paper_table import PaperTable, paper_table
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_filter import RunFilter
from bnnbench.results.read.run_tables import USER_PUBLISHED_COLUMNS, read_runs

NASTY = (r"50 % of_a & b # {x} ~ ^ \textit $5", "$\\alpha$-VI")
FORMATS = {"padded": PADDED, "siunitx": SIUNITX}


def check_well_formed(text: str) -> None:
    """Braces and environments are closed, and all rows have the same number of cells."""
    bare = re.sub(r"\\[{}]", "", "\n".join(re.sub(r"(?<!\\)%.*", "", text).splitlines()))
    assert bare.count("{") == bare.count("}")
    begun, ended = (re.findall(rf"\\{word}{{([a-z*]+)}}", bare) for word in ("begin", "end"))
    assert begun == ended[::-1] and begun[0].startswith("table")
    assert len(re.findall(r"(?<!\\)\$", bare)) % 2 == 0
    (types,) = re.findall(r"\\begin\{tabular\}\{@\{\}l(.*)@\{\}\}", bare)
    columns = 1 + len(re.findall(r"S\[.*?\]|c", types))
    body = bare[bare.index(r"\toprule") : bare.index(r"\bottomrule")]
    rows = [row for row in body.split(r"\\") if "&" in row or "multicolumn" in row]
    assert len(rows) > 2
    for row in rows:
        spans = [int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", row)]
        assert len(re.findall(r"(?<!\\)&", row)) + 1 + sum(spans) == columns, row


@pytest.mark.parametrize("numbers", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("place", range(4))
def test_every_layout_is_well_formed(place: int, numbers: NumberFormat) -> None:
    table = make_paper_table(sets=3, methods=2, names=NASTY, published=1)
    check_well_formed(latex_document(table, list(layouts(table, numbers))[place]))
    alone = make_paper_table(sets=1, methods=1, metrics=("crps",))
    check_well_formed(latex_document(alone, list(layouts(alone, numbers))[place % 2]))


SHAPE = ColumnShape("-", "00", ".00", "0", ".00", marked=True)


@pytest.mark.parametrize(
    ("score", "padded", "siunitx"),
    [
        (PrintedCell("-12.34", "0.56"),
         r"$\reg{-12}{.34} \pm \reg{0}{.56}\sig{}$", "-12.34 +- 0.56"),
        (PrintedCell("1.2", "0.34", mark="‡"),
         r"$\pad{-0}\reg{1}{.2}\pad{0} \pm \reg{0}{.34}\sig{\ddagger}$",
         r"1.2 {\mbox{${} \pm 0.34$}} {$^{\ddagger}$}"),
        (PrintedCell("-1.23", "0.45", best=True),
         r"$\mathbf{\pad{0}{-}1.23 \pm 0.45}\sig{}$", r"\boldmath -1.23 +- 0.45"),
        (PrintedCell("2.6", "0.10"), r"$\pad{-0}\reg{2}{.6}\pad{0} \pm \reg{0}{.10}\sig{}$",
         r"2.6 {\mbox{${} \pm 0.10$}}"),
        (PrintedCell("3", "0.10"), r"$\pad{-0}\reg{3}{}\pad{.00} \pm \reg{0}{.10}\sig{}$",
         r"3 {\mbox{${} \pm 0.10$}}"),
        (PrintedCell("12"), r"$\pad{-}\reg{12}{}\sig{}\pad{.00}\pad{{} \pm 0.00}$", "12"),
        (PrintedCell(MISSING), "--", "{--}"),
    ],
)  # fmt: skip
def test_cells_have_the_width_of_their_column(
    score: PrintedCell, padded: str, siunitx: str
) -> None:
    assert PADDED.score(score, SHAPE) == padded
    assert SIUNITX.score(score, SHAPE) == siunitx


@pytest.mark.parametrize(
    ("shape", "column"),
    [
        (SHAPE, "S[table-format=-2.2(3),table-space-text-post={$^{+}$}]"),
        (ColumnShape("", "000", "", "00", ""), "S[table-format=3.0(2)]"),
        (ColumnShape("", "0", ".0"), "S[table-format=1.1]"),
        (ColumnShape(), "S[table-format=1.0]"),
    ],
)
def test_columns_of_siunitx_have_the_digits_of_their_shape(shape: ColumnShape, column: str) -> None:
    assert SIUNITX.column(shape) == column


def test_the_best_is_bold_and_the_caption_states_the_rule() -> None:
    table = make_paper_table(published=1)
    text = latex_document(table, best_layout(table))
    assert text.count(r"$\mathbf{") == 4 and r"$\mathbf{\pad{-}3.57 \pm 0.23}$" in text
    assert r"\reg{4}{.57} \pm" in text and r"\reg{-4}{.57} \pm" in text
    assert r"\textit{RMSE $\downarrow$}" in text and r"{Log-likelihood $\uparrow$}" in text
    (caption,) = re.findall(r"\\caption\{(.*)\}\\label\{tab:results\}", text)
    for words in ("two-sided correlated t-test", "p below 0.05 after Holm's correction",
                  r"mean $\pm$ standard error over 20 splits", "(Smith \\& Co. 2024)",
                  "RMSE (original units) and log-likelihood (nats per test point)"):  # fmt: skip
        assert words in caption, words
    assert r"paper 0$^\dagger$" in text


def test_a_caption_mentions_only_what_applies() -> None:
    table = make_paper_table(methods=1)
    text = latex_document(table, best_layout(table))
    assert "Bold" not in text and "dagger" not in text and "diverged" not in text
    diverged = replace(table, diverged_runs=("2 of 20 of a on b",), splits=(2, 20))
    text = latex_document(diverged, best_layout(diverged))
    assert ": 2 of 20 of a on b." in text
    assert "over 2 to 20 splits" in text
    assert "value on one split" in latex_document(replace(table, splits=(1,)), best_layout(table))


def test_the_caption_explains_marks_and_where_there_is_no_comparison() -> None:
    plain = make_paper_table()
    tested = {key: replace(cell, against_mine={"outcome": "undecided"})
              for key, cell in plain.cells.items()}  # fmt: skip
    table = replace(plain, cells=tested, mine="Ours & co", without_mine=("a_b", "c"))
    text = latex_document(table, best_layout(table))
    for words in (r"$^+$ and $^-$: significantly better or worse than Ours \& co by the same test",
                  r"There is no comparison with Ours \& co on a\_b and c."):  # fmt: skip
        assert words in text
    everywhere = latex_document(replace(table, without_mine=()), best_layout(table))
    assert "There is no comparison" not in everywhere


def test_a_wide_table_takes_both_columns() -> None:
    table = make_paper_table(sets=9, methods=6)
    assert r"\begin{table*}[t]" in latex_document(table, best_layout(table))
    assert r"\begin{table}[t]" in latex_document(
        make_paper_table(), best_layout(make_paper_table())
    )


def test_names_are_escaped_except_formulas() -> None:
    assert escaped("$\\alpha$ & _b") == "$\\alpha$ \\& \\_b"
    assert escaped("5 $ a \\ b") == r"5 \$ a \textbackslash{} b"


@pytest.mark.parametrize(
    "text",
    [
        r"$\input{/etc/passwd}$",
        r"$\alpha\write18{x}$",
        r"$\csname input\endcsname$",
        r"$\alphainput$",
        r"$^^5cinput{x}$",
    ],
)
def test_formulas_run_no_commands(text: str) -> None:
    assert not re.search(r"\\(input|write|csname|alphainput)", escaped(text))
    assert "^^" not in escaped(text)


@pytest.fixture
def difficult(tmp_path: Path) -> PaperTable:
    """A table with long names, other splits, diverged runs, missing and published scores."""
    outputs = tmp_path / "outputs"
    spread = ("wine", 0.1), ("yacht", 1), ("boston", 10)
    for dataset, scale in spread:
        for method, factor in (("pbp", 1), ("vadam", 1.2), ("deep_ensemble", 30)):
            rmse = [scale * factor * score for score in (3.0, 4.0, 5.0, 8.0)]
            make_run(outputs, dataset=dataset, method=method, times=5, rmse=rmse)
    lose_splits(make_run(outputs, dataset="yacht", method="map", times=5), kept=8, diverged=2)
    lose_splits(make_run(outputs, dataset="boston", method="map", times=5), diverged=20)
    make_run(outputs, experiment="gvi_uci", dataset="wine", method="vadam")
    value = dict.fromkeys(USER_PUBLISHED_COLUMNS, "") | {
        "method": "SWAG_&_co", "dataset": "wine", "metric": "rmse", "mean": 0.6,
        "stderr": float("nan"), "n_splits": 4.0, "decimals": 1.0, "source": "Doe # 5 %",
    }  # fmt: skip
    runs = replace(read_runs(outputs), user_published=pd.DataFrame([value]))
    names = {"wine": "wine, 50 % of_rows", "vadam": "A method with a long name", "pbp": NASTY[0]}
    metrics = [BY_KEY["rmse"], BY_KEY["log_likelihood"]]
    return paper_table(runs, metrics, RunFilter(datasets=("wine", "yacht", "boston")), names, "pbp")


NEEDS_TEX = pytest.mark.skipif(
    not has_tex(),
    reason="needs LaTeX: apt-get install texlive-latex-recommended texlive-science",
)


@pytest.mark.ci
@NEEDS_TEX
@pytest.mark.parametrize("numbers", FORMATS.values(), ids=FORMATS)
def test_tex_compiles_every_layout_with_at_most_the_estimated_width(
    tmp_path: Path, difficult: PaperTable, numbers: NumberFormat
) -> None:
    names = tuple(f"a_method_with_100_%_of_the_rows_{place}" for place in range(6))
    tables = [
        difficult,
        make_paper_table(sets=9, methods=6),
        make_paper_table(),
        make_paper_table(sets=2, methods=6, names=names, published=1),
        make_paper_table(sets=5, methods=2, names=names),
        replace(
            make_paper_table(sets=1, methods=2),
            metrics={BY_KEY["rmse"]: "Error of the mean prediction in per cent of the range"},
        ),
    ]
    ways = [
        (table, layout)
        for table in tables
        for layout in (best_layout(table, numbers), *layouts(table, numbers))
    ]
    body = "".join(measured(table, layout) for table, layout in ways)
    floats = "".join(latex_document(table, best_layout(table, numbers)) for table in tables)
    log = compile_tex(tmp_path, f"{body}{floats}\\clearpage")
    sizes = re.findall(r"WIDTH ([\d.]+)pt HEIGHT ([\d.]+)pt", log)
    assert len(sizes) == len(ways)
    for (_, layout), size in zip(ways, sizes, strict=True):
        width, height = (float(points) / 72.27 for points in size)
        assert height <= layout.height < 1.2 * height + 0.2
        assert width <= layout.inches < 1.2 * width
    assert "Overfull" not in log and "Missing character" not in log


def measured(table: PaperTable, layout: Layout) -> str:
    """Return TeX code that prints the width and the height of a table."""
    text = latex_document(table, layout)
    inner = text[text.index(rf"\{layout.size}") : text.index(r"\end{tabular}")] + r"\end{tabular}"
    sizes = r"\dimen0=\ht\x\advance\dimen0\dp\x"
    sizes += r"\typeout{WIDTH \the\wd\x\space HEIGHT \the\dimen0}"
    return f"\\sbox{{\\x}}{{%\n{inner}}}{sizes}\n"


@pytest.mark.ci
@NEEDS_TEX
@pytest.mark.parametrize("place", range(4))
def test_decimal_points_are_below_each_other(
    tmp_path: Path, difficult: PaperTable, place: int
) -> None:
    layout = list(layouts(difficult))[place]
    rows = [
        with_points(line) if r"\pm" in line and "{tab:" not in line else line
        for line in latex_document(difficult, layout).splitlines()
    ]
    point = r"\def\point#1{\pdfsavepos\write-1{POINT #1 \the\pdflastxpos}.}"
    log = compile_tex(tmp_path, "\n".join([point, *rows, r"\clearpage"]))
    places: dict[str, set[int]] = {}
    for column, place_found in re.findall(r"POINT (\S+) (\d+)", log):
        places.setdefault(column, set()).add(int(place_found))
    assert len(places) > len(layout.shapes)
    for column, found in places.items():
        assert max(found) - min(found) < 66, f"{column}: in units of 1/65536 points"


def with_points(row: str) -> str:
    """Replace each decimal point of a row by code that logs its column and position."""
    label, *cells = row.split(" & ")
    marked = []
    for column, text in enumerate(cells):
        parts = zip(("mean", "error"), text.split(r" \pm "), strict=False)
        marked.append(
            r" \pm ".join(part.replace(".", rf"\point{{{column}{name}}}") for name, part in parts)
        )
    return " & ".join([label, *marked])
