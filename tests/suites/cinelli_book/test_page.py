"""The section on the book's comparison."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support.blocks import blocks, data_files, figures
from support.runs import LOG_LIKELIHOOD, RMSE, make_run

from bnnbench.report.renderers import markdown
from bnnbench.results.claims.claims import NOT_JUDGED
from bnnbench.suites.cinelli_book.comparison import STATEMENTS
from bnnbench.suites.cinelli_book.page import section


def test_the_report_contains_the_comparison_only_if_it_was_run(tmp_path: Path) -> None:
    make_run(tmp_path)
    assert not blocks(section, tmp_path)
    make_run(tmp_path, experiment="book_uci")
    better = {
        "rmse": np.array(RMSE) - 1,
        "log_likelihood": np.array(LOG_LIKELIHOOD) + 0.5,
        "log_likelihood_gaussian": np.array(LOG_LIKELIHOOD) + 0.25,
    }
    make_run(tmp_path, experiment="book_uci", method="pbp", total_seconds=2.0, **better)
    found = blocks(section, tmp_path)
    data = data_files(found)
    assert data["running_times"]["speedup"].tolist() == [1813 / 100, 16 / 2]
    claims = data["claims"]
    assert claims.columns.tolist() == ["text", "source", "verdict", "evidence", "rule"]
    assert claims["text"].tolist() == [text for text, _, _ in STATEMENTS]
    assert {*claims["verdict"]} == {NOT_JUDGED}
    assert list(figures(found)) == ["relative_time"]
    page = markdown.page(found)
    assert "2 of the 48 runs" in page and "2 of them have fewer than 20 splits" in page
    assert "100 / 1813 (18.1x)" in page and "2 / 16 (8x)" in page
    (row,) = [line for line in page.splitlines() if line.startswith("| boston") and "-2.25" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:4] == ["boston", "PBP", "-2.00 ± 0.20", "-2.570 ± 0.090"]
    assert cells[4] == "-2.60 ± 0.20" and cells[6] == "-2.25 ± 0.20"
