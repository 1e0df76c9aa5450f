"""The LaTeX table is well formed and compiles, if TeX is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.paper import make_paper_table

from bnnbench.report.paper.latex import escaped, latex_document
from bnnbench.report.paper.layout import Layout, best_layout, layouts
from bnnbench.report.paper.paper_table import PaperTable

NASTY = (r"50 % of_a & b # {x} ~ ^ \textit $5", "$\\alpha$-VI")


def check_well_formed(text: str) -> None:
    """Braces and environments are closed, and all rows have the same number of cells."""
    bare = re.sub(r"\\[{}]", "", "\n".join(re.sub(r"(?<!\\)%.*", "", text).splitlines()))
    assert bare.count("{") == bare.count("}")
    begun, ended = (re.findall(rf"\\{word}{{([a-z*]+)}}", bare) for word in ("begin", "end"))
    assert begun == ended[::-1] and begun[0].startswith("table")
    assert len(re.findall(r"(?<!\\)\$", bare)) % 2 == 0
    columns = 1 + int(re.findall(r"\*\{(\d+)\}", bare)[0])
    body = bare[bare.index(r"\toprule") : bare.index(r"\bottomrule")]
    rows = [row for row in body.split(r"\\") if "&" in row or "multicolumn" in row]
    assert len(rows) > 2
    for row in rows:
        spans = [int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", row)]
        assert len(re.findall(r"(?<!\\)&", row)) + 1 + sum(spans) == columns, row


@pytest.mark.parametrize("place", range(4))
def test_every_layout_is_well_formed(place: int) -> None:
    table = make_paper_table(sets=3, methods=2, names=NASTY, published=1)
    check_well_formed(latex_document(table, list(layouts(table))[place]))
    alone = make_paper_table(sets=1, methods=1, metrics=("crps",))
    check_well_formed(latex_document(alone, list(layouts(alone))[place % 2]))


def test_the_best_is_bold_and_the_caption_states_the_rule() -> None:
    table = make_paper_table(published=1)
    text = latex_document(table, best_layout(table))
    assert text.count(r"\mathbf{") == 4 and r"$\mathbf{3.57 \pm 0.23}$" in text
    assert "$4.57 \\pm 0.23$" in text and "$-4.57 \\pm 0.23$" in text
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


@pytest.mark.ci
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_tex_compiles_it_with_about_the_estimated_width(tmp_path: Path) -> None:
    tables = [
        make_paper_table(sets=3, methods=2, names=NASTY, published=1),
        make_paper_table(sets=9, methods=6),
        make_paper_table(),
    ]
    ways = [(table, layout) for table in tables for layout in (best_layout(table), *layouts(table))]
    body = "".join(tabular(table, layout) for table, layout in ways)
    (tmp_path / "t.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\newsavebox{\\x}\\begin{document}\n"
        f"{body}\\input{{whole}}\\end{{document}}\n"
    )
    (tmp_path / "whole.tex").write_text(latex_document(tables[0], best_layout(tables[0])))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    widths = [float(found) / 72.27 for found in re.findall(r"WIDTH ([\d.]+)pt", done.stdout)]
    assert len(widths) == len(ways)
    for (_, layout), width in zip(ways, widths, strict=True):
        assert 0.85 * width < layout.inches < 1.25 * width


def tabular(table: PaperTable, layout: Layout) -> str:
    """TeX code that prints the width of a table."""
    text = latex_document(table, layout)
    inner = text[text.index(rf"\{layout.size}") : text.index(r"\end{tabular}")] + r"\end{tabular}"
    return "\\sbox{\\x}{%\n" + inner + "}\\typeout{WIDTH \\the\\wd\\x}\n"
