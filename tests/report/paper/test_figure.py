"""Figures of a paper: column or page width, embedded fonts."""

from __future__ import annotations

import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from support.paper import make_paper_table

from bnnbench.report.figures.plotting import is_math
from bnnbench.report.paper.latex_table import NOT_TESTED
from bnnbench.report.paper.paper_writer import paper_figure, write_paper
from bnnbench.report.report_folder import ReportFolder
from bnnbench.results.metric_table import BY_KEY

ERROR = BY_KEY["rmse"]


@pytest.mark.parametrize(("sets", "width"), [(1, 3.3), (2, 3.3), (3, 6.9), (9, 6.9)])
def test_it_is_as_wide_as_a_column_or_two(sets: int, width: float) -> None:
    figure = paper_figure(make_paper_table(sets=sets), ERROR)
    assert figure.get_figwidth() == width
    shown = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in shown] == [f"set-{place}" for place in range(sets)]


def test_points_are_the_means_and_filled_if_bold() -> None:
    figure = paper_figure(make_paper_table(published=1, names=("$\\alpha$", "$5")), ERROR, "std")
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["$\\alpha$", "$5", "paper 0"]
    points = [container.lines[0] for container in axes.containers]
    assert [float(point.get_xdata()[0]) for point in points] == pytest.approx([3.57, 4.57, 5.57])
    assert [p.get_markerfacecolor() == p.get_color() for p in points] == [True, False, False]
    (low, _), (high, _) = axes.containers[0].lines[2][0].get_segments()[0]
    assert high - low == pytest.approx(2.0), "± 1 standard deviation"
    figure.draw_without_rendering()


@pytest.mark.parametrize("untested", ["", "8 of 20 splits"])
def test_means_that_are_not_tested_have_their_mark(untested: str) -> None:
    table = make_paper_table()
    cells = {
        key: replace(cell, untested=untested if key[1] == "method-1" else "")
        for key, cell in table.cells.items()
    }
    figure = paper_figure(replace(table, cells=cells), ERROR)
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert texts == [NOT_TESTED] * (2 if untested else 0)
    assert (NOT_TESTED in figure.get_supxlabel()) == bool(untested)


def test_only_valid_formulas_are_math() -> None:
    assert is_math("$\\alpha$-VI")
    assert not is_math("$5 to $6\\foo$") and not is_math("$5")


@pytest.mark.slow
def test_every_file_is_written_with_fonts_of_type_42(tmp_path: Path) -> None:
    write_paper(make_paper_table(), ReportFolder(tmp_path))
    names = {"paper.tex", "paper.csv", "paper_rmse.pdf", "paper_log_likelihood.pdf"}
    assert {path.name for path in tmp_path.iterdir()} == names
    pdf = (tmp_path / "paper_rmse.pdf").read_bytes()
    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.S)
    text = pdf + b"".join(inflated(stream) for stream in streams)
    assert b"/FontFile2" in text and b"/Type3" not in text, "embedded TrueType"


def inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""
