"""The part of a report on the sprinkler, on runs whose numbers are known beforehand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.sprinkler_runs import made

from bnnbench.report import overview
from bnnbench.report.figures.saving import save_for_page
from bnnbench.report.overview import write_report
from bnnbench.report.page import Drawings
from bnnbench.report.renderers import markdown
from bnnbench.report.section import Data, Drawing, Heading, Section, Style, Table
from bnnbench.results.reader import Runs, read_runs
from bnnbench.suites.lam_density_ratio.comparison.section import one_algorithm, section

THIRTY = tuple(1.36 + 0.01 * np.sin(np.arange(30)))


def shown(outputs: Path) -> tuple[Section, dict[str, pd.DataFrame]]:
    found = section(read_runs(outputs), Style())
    assert found is not None
    return found, {b.name: b.table for b in found.blocks if isinstance(b, Data)}


def test_without_a_sprinkler_there_is_nothing(tmp_path: Path) -> None:
    assert section(Runs(tmp_path, {}, pd.DataFrame(), {}), Style()) is None


def test_a_run_as_published_has_a_z_and_no_mark(tmp_path: Path) -> None:
    made(tmp_path, "protocol=undertrained", "estimator=T", ends=THIRTY)
    _, tables = shown(tmp_path)
    row = tables["density_ratio_table_9_1"].set_index("configuration").loc["prior, reverse KL, T"]
    error = np.std(THIRTY) / np.sqrt(29)
    assert row["stderr"] == pytest.approx(error)
    assert row["z"] == pytest.approx(
        (np.mean(THIRTY) - 1.3641) / np.hypot(error, 0.0141 / np.sqrt(29))
    )
    assert pd.isna(row["settings_differ"]) or row["settings_differ"] == ""
    others = tables["density_ratio_table_9_1"]["mean"]
    assert others.notna().sum() == 1 and len(others) == 6


def test_reduced_settings_have_a_mark_that_says_what_differs_and_no_z(tmp_path: Path) -> None:
    made(tmp_path, "protocol=optimal", "estimator=T", ends=THIRTY)
    made(tmp_path, "protocol=quick", "estimator=D", ends=THIRTY[:5])
    found, tables = shown(tmp_path)
    text = markdown.page([found])
    row = tables["density_ratio_table_8_1"].set_index("configuration").loc["prior, reverse KL, T"]
    assert "iterations 4000" in row["settings_differ"] and pd.isna(row["z"])
    assert "prior, reverse KL, T (settings differ: a)" in text
    assert re.search(r"^- a: .*iterations 4000", text, re.MULTILINE)
    # Fewer repetitions of the same thing widen its error, and that is in z.
    assert "prior, reverse KL, D (settings differ: 5 of 30 repetitions)" in text
    quick = tables["density_ratio_table_9_1"].set_index("configuration").loc["prior, reverse KL, D"]
    assert np.isfinite(quick["z"])


def test_tests_of_ours_stand_beside_the_thesis_s(tmp_path: Path) -> None:
    for estimator, shift in {"T": 0.0, "D": 0.02}.items():
        ends = [end + shift for end in THIRTY]
        made(tmp_path, "protocol=undertrained", f"estimator={estimator}", ends=ends)
    _, tables = shown(tmp_path)
    tests = tables["density_ratio_tests_9_1"].set_index("pair")
    assert len(tests) == 9  # three pairs of estimators for each bound, three of bounds
    own = tests.loc["prior, reverse KL, D - prior, reverse KL, T"]
    assert own["difference"] == pytest.approx(0.02) and own["p"] < 1e-8
    assert own["thesis_p"] == pytest.approx(0.063, abs=1e-3)


def test_only_tables_and_figures_of_what_is_there(tmp_path: Path) -> None:
    made(tmp_path, "protocol=undertrained", "contrast=joint", ends=THIRTY[:4])
    found, tables = shown(tmp_path)
    assert [name for name in tables if "table" in name] == ["density_ratio_table_9_2"]
    drawings = [b.name for b in found.blocks if isinstance(b, Drawing)]
    assert drawings == [
        f"density_ratio_fig_{n}" for n in ("5_1_5_4", "9_5", "9_6", "9_7")
    ]  # fmt: skip
    for block in found.blocks:
        if isinstance(block, Drawing):
            assert block.draw().axes
            assert "5_1" in block.name or "4 of 30 repetitions" in block.caption


def test_the_whole_report_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def in_page_alone(drawings: Drawings, *_: Any) -> dict[str, str]:
        return save_for_page(drawings)

    monkeypatch.setattr(overview, "save_for_page", in_page_alone)
    made(
        tmp_path, "protocol=optimal", "estimator=relu", ends=THIRTY[:12], status=["ok", "stuck"] * 6
    )
    for contrast in ("prior", "joint"):
        made(tmp_path, "protocol=quick", f"contrast={contrast}", ends=THIRTY[:5])
    made(tmp_path, "protocol=quick", "contrast=joint", "observations=model", ends=THIRTY[:5])
    report = write_report(read_runs(tmp_path))
    text = report.page.read_text()
    assert "one algorithm" in text and "1.3239" in text and "observations=model" in text
    assert 'id="density_ratio_fig_5_5-' in report.html.read_text()
    runs = pd.read_csv(report.table("density_ratio_runs"))
    assert runs["failed"].tolist().count(6) == 1 and len(runs) == 4
    claims = pd.read_csv(report.table("density_ratio_claims")).set_index("text")
    assert claims.loc["C3: The ReLU ratio fails in about half of the simulations.", "verdict"] == (
        "confirmed"
    )


def test_the_finding_carries_the_thesis_s_own_tests() -> None:
    text = one_algorithm()
    assert "among 24 pairs" in text and " 2 have a p below 0.05, the least 0.0073" in text


def test_headings_and_tables_follow_each_other(tmp_path: Path) -> None:
    made(tmp_path, "protocol=undertrained", ends=THIRTY)
    found, _ = shown(tmp_path)
    assert isinstance(found.blocks[0], Heading) and found.blocks[0].level == 2
    for table in (block for block in found.blocks if isinstance(block, Table)):
        assert all(len(row) == len(table.columns) for row in table.rows)
