"""The report section on the sprinkler, on runs with given numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.blocks import blocks, data_files, figures
from support.sprinkler_runs import finished_run

from bnnbench.report import report_writer
from bnnbench.report.blocks import Block, FigureBlock, Heading, Table
from bnnbench.report.figures.save import save_and_inline
from bnnbench.report.renderers import markdown
from bnnbench.report.report_writer import write_report
from bnnbench.report.run_page import FigureFunctions
from bnnbench.results.reader import Runs, read_runs
from bnnbench.suites.lam_density_ratio.comparison.section import equivalence_paragraph, section

THIRTY = tuple(1.36 + 0.01 * np.sin(np.arange(30)))


def section_and_tables(outputs: Path) -> tuple[list[Block], dict[str, pd.DataFrame]]:
    found = blocks(section, outputs)
    return found, data_files(found)


def test_there_is_no_section_without_sprinkler_runs(tmp_path: Path) -> None:
    assert not blocks(section, Runs(tmp_path, {}, pd.DataFrame(), {}))


def test_a_run_as_published_has_a_z_and_no_mark(tmp_path: Path) -> None:
    finished_run(tmp_path, "schedule=undertrained", "estimator=log_ratio", ends=THIRTY)
    _, tables = section_and_tables(tmp_path)
    row = tables["density_ratio_table_9_1"].set_index("configuration").loc["prior, reverse KL, T"]
    error = np.std(THIRTY) / np.sqrt(29)
    assert row["stderr"] == pytest.approx(error)
    assert row["z"] == pytest.approx(
        (np.mean(THIRTY) - 1.3641) / np.hypot(error, 0.0141 / np.sqrt(29))
    )
    assert pd.isna(row["settings_differ"]) or row["settings_differ"] == ""
    others = tables["density_ratio_table_9_1"]["mean"]
    assert others.notna().sum() == 1 and len(others) == 6


def test_deviating_settings_are_marked_and_have_no_z(tmp_path: Path) -> None:
    finished_run(tmp_path, "schedule=optimal", "estimator=log_ratio", ends=THIRTY)
    finished_run(
        tmp_path,
        "schedule=quick",
        "estimator=class_probability",
        ends=THIRTY[:5],
    )
    found, tables = section_and_tables(tmp_path)
    text = markdown.page(found)
    row = tables["density_ratio_table_8_1"].set_index("configuration").loc["prior, reverse KL, T"]
    assert "iterations 4000" in row["settings_differ"] and pd.isna(row["z"])
    assert "prior, reverse KL, T (settings differ: a)" in text
    assert re.search(r"^- a: .*iterations 4000", text, re.MULTILINE)
    # Fewer repetitions increase the standard error, which z takes into account.
    assert "prior, reverse KL, D (settings differ: 5 of 30 repetitions)" in text
    quick = tables["density_ratio_table_9_1"].set_index("configuration").loc["prior, reverse KL, D"]
    assert np.isfinite(quick["z"])


def test_welch_tests_of_our_runs_and_of_the_thesis(tmp_path: Path) -> None:
    for estimator, shift in {"log_ratio": 0.0, "class_probability": 0.02}.items():
        ends = [end + shift for end in THIRTY]
        finished_run(
            tmp_path,
            "schedule=undertrained",
            f"estimator={estimator}",
            ends=ends,
        )
    _, tables = section_and_tables(tmp_path)
    tests = tables["density_ratio_tests_9_1"].set_index("pair")
    assert len(tests) == 9  # three pairs of estimators for each bound, three of bounds
    own = tests.loc["prior, reverse KL, D - prior, reverse KL, T"]
    assert own["difference"] == pytest.approx(0.02) and own["p"] < 1e-8
    assert own["thesis_p"] == pytest.approx(0.063, abs=1e-3)


def test_only_tables_and_figures_with_runs_are_shown(tmp_path: Path) -> None:
    finished_run(tmp_path, "schedule=undertrained", "contrast=joint", ends=THIRTY[:4])
    found, tables = section_and_tables(tmp_path)
    assert [name for name in tables if "table" in name] == ["density_ratio_table_9_2"]
    figure_blocks = list(figures(found))
    assert figure_blocks == [
        f"density_ratio_fig_{n}" for n in ("5_1_5_4", "9_5", "9_6", "9_7")
    ]  # fmt: skip
    for block in found:
        if isinstance(block, FigureBlock):
            assert block.draw().axes
            assert "5_1" in block.name or "4 of 30 repetitions" in block.caption


def test_the_whole_report_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def inline_only(figures: FigureFunctions, *_: Any) -> dict[str, str]:
        return save_and_inline(figures)

    monkeypatch.setattr(report_writer, "save_and_inline", inline_only)
    finished_run(
        tmp_path,
        "schedule=optimal",
        "estimator=relu_ratio",
        ends=THIRTY[:12],
        status=["ok", "stuck"] * 6,
    )
    for contrast in ("prior", "joint"):
        finished_run(
            tmp_path,
            "schedule=quick",
            f"contrast={contrast}",
            ends=THIRTY[:5],
        )
    finished_run(
        tmp_path,
        "schedule=quick",
        "contrast=joint",
        "observations=model",
        ends=THIRTY[:5],
    )
    report = write_report(read_runs(tmp_path))
    text = report.page.read_text()
    assert "one algorithm" in text and "1.3239" in text and "experiment.observations=model" in text
    assert 'id="density_ratio_fig_5_5-' in report.html.read_text()
    runs = pd.read_csv(report.table("density_ratio_runs"))
    assert runs["failed"].tolist().count(6) == 1 and len(runs) == 4
    claims = pd.read_csv(report.table("density_ratio_claims")).set_index("text")
    assert claims.loc["C3: The ReLU ratio fails in about half of the simulations.", "verdict"] == (
        "confirmed"
    )


def test_the_equivalence_paragraph_has_the_tests_of_the_thesis_s_numbers() -> None:
    text = equivalence_paragraph()
    assert all(number in text for number in ("24 pairs", " 2 have", "0.0073"))


def test_rows_have_a_cell_per_column(tmp_path: Path) -> None:
    finished_run(tmp_path, "schedule=undertrained", ends=THIRTY)
    found, _ = section_and_tables(tmp_path)
    assert isinstance(found[0], Heading) and found[0].level == 2
    for table in (block for block in found if isinstance(block, Table)):
        assert all(len(row) == len(table.columns) for row in table.rows)
