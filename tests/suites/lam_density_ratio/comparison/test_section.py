"""The report section on the sprinkler and its figures, on runs with given numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.blocks import blocks, data_files
from support.sprinkler_runs import finished_run

from bnnbench.report import report_writer
from bnnbench.report.blocks import Block, FigureBlock, Heading, TableBlock
from bnnbench.report.figures.plotting import save_and_inline
from bnnbench.report.renderers import markdown
from bnnbench.report.report_writer import write_report
from bnnbench.report.run_page import FigureFunctions
from bnnbench.results.read.run_tables import Runs, read_runs
from bnnbench.suites.lam_density_ratio.comparison.section import ONE_RUN, section
from bnnbench.suites.lam_density_ratio.names import DIVERGED, NOT_FINITE, OK, STUCK

THIRTY = tuple(1.36 + 0.01 * np.sin(np.arange(30)))

UNDERTRAINED, OPTIMAL, QUICK = (f"schedule={s}" for s in ("undertrained", "optimal", "quick"))

D, T, RELU = (f"estimator={name}" for name in ("class_probability", "log_ratio", "relu_ratio"))


def section_and_tables(outputs: Path) -> tuple[list[Block], dict[str, pd.DataFrame]]:
    found = blocks(section, outputs)
    for table in (block for block in found if isinstance(block, TableBlock)):
        assert all(len(row) == len(table.columns) for row in table.rows)
    return found, data_files(found)


def row_of(tables: dict[str, pd.DataFrame], number: str, configuration: str) -> pd.Series:
    return tables[f"density_ratio_table_{number}"].set_index("configuration").loc[configuration]


def test_there_is_no_section_without_sprinkler_runs(tmp_path: Path) -> None:
    assert not blocks(section, Runs(tmp_path, {}, pd.DataFrame(), {}))


def test_a_run_as_published_has_a_test_and_no_mark(tmp_path: Path) -> None:
    finished_run(tmp_path, UNDERTRAINED, T, ends=THIRTY)
    found, tables = section_and_tables(tmp_path)
    assert isinstance(found[0], Heading) and found[0].level == 2
    row, error = row_of(tables, "9_1", "prior, reverse KL, T"), np.std(THIRTY) / np.sqrt(29)
    assert row["stderr"] == pytest.approx(error)
    theirs = 1.3641, 0.0141 * np.sqrt(30 / 29), 30
    test = stats.ttest_ind_from_stats(np.mean(THIRTY), np.std(THIRTY, ddof=1), 30, *theirs, False)
    assert row["p"] == pytest.approx(test.pvalue) and row["settings_differ"] == ""
    others = tables["density_ratio_table_9_1"]["mean"]
    assert others.notna().sum() == 1 and len(others) == 6


def test_deviating_settings_are_marked_and_have_no_test(tmp_path: Path) -> None:
    finished_run(tmp_path, OPTIMAL, T, ends=THIRTY)
    finished_run(tmp_path, QUICK, D, ends=THIRTY[:5])
    found, tables = section_and_tables(tmp_path)
    text, row = markdown.page(found), row_of(tables, "8_1", "prior, reverse KL, T")
    assert "iterations 4000" in row["settings_differ"] and pd.isna(row["p"])
    assert row["settings_differ"] in text
    # Fewer repetitions increase the standard error, which the test takes into account.
    assert "5 of 30 repetitions" in text
    assert np.isfinite(row_of(tables, "9_1", "prior, reverse KL, D")["p"])


@pytest.mark.parametrize(
    ("status", "failures", "is_tested"),
    [
        ([OK, OK, DIVERGED], "1 of 3 diverged", True),
        ([OK, DIVERGED, NOT_FINITE], "1 of 3 diverged, 1 of 3 not finite", False),
        ([STUCK] * 3, "3 of 3 stuck", False),
    ],
)
def test_failed_repetitions_are_counted_by_kind_and_not_averaged(
    tmp_path: Path, status: list[str], failures: str, is_tested: bool
) -> None:
    ends = [1.36 + 0.01 * k if one == OK else 2185.0 for k, one in enumerate(status)]
    finished_run(tmp_path, UNDERTRAINED, T, ends=ends, status=status)
    found, tables = section_and_tables(tmp_path)
    row, run = row_of(tables, "9_1", "prior, reverse KL, T"), tables["density_ratio_runs"].loc[0]
    assert row["failures"] == run["failures"] == failures and failures in markdown.page(found)
    assert not row["mean"] > 1.4 and not run["average_kl_median"] > 1.4
    assert np.isfinite(row["p"]) == is_tested


def test_a_stable_run_stands_in_three_rows(tmp_path: Path) -> None:
    finished_run(
        tmp_path, OPTIMAL, T, "contrast=joint", "divergence=gan", "numerics=stable", ends=THIRTY[:3]
    )
    _, tables = section_and_tables(tmp_path)
    rows = tables["density_ratio_table_8_2"].set_index("configuration")
    ours = rows[rows["repetitions"] == 3]
    assert list(ours.index) == [f"joint, GAN, {symbol}" for symbol in "DrT"]
    assert ours["mean"].nunique() == 1 and ours["settings_differ"].str.contains(ONE_RUN).all()


@pytest.mark.slow
def test_only_tables_and_figures_with_runs_are_shown(tmp_path: Path) -> None:
    finished_run(tmp_path, UNDERTRAINED, "contrast=joint", ends=THIRTY[:4])
    found, tables = section_and_tables(tmp_path)
    assert [name for name in tables if "table" in name] == ["density_ratio_table_9_2"]
    figures = {b.name: b for b in found if isinstance(b, FigureBlock)}
    assert list(figures) == [f"density_ratio_fig_{n}" for n in ("5_1_5_4", "9_5", "9_6", "9_7")]
    assert all(block.draw().axes for block in figures.values())
    assert "4 of 30 repetitions" in figures["density_ratio_fig_9_5"].caption


@pytest.mark.slow
def test_the_whole_report_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def inline_only(figures: FigureFunctions, *_: Any) -> dict[str, str]:
        some = {name: draw for name, draw in figures.items() if "fig_5_5" in name}
        return dict.fromkeys(figures, "<svg/>") | save_and_inline(some)

    monkeypatch.setattr(report_writer, "save_and_inline", inline_only)
    finished_run(tmp_path, OPTIMAL, RELU, ends=THIRTY[:20], status=["ok", "stuck"] * 10)
    joint = "contrast=joint"
    for words in ([], [joint], [joint, "observations=model"]):
        finished_run(tmp_path, QUICK, *words, ends=THIRTY[:5])
    report = write_report(read_runs(tmp_path))
    text = report.page.read_text()
    assert "one algorithm" in text and "1.3241" in text and "experiment.observations=model" in text
    assert 'id="density_ratio_fig_5_5-' in report.html.read_text()
    runs = pd.read_csv(report.table("density_ratio_runs"))
    assert runs["failed"].tolist().count(10) == 1 and len(runs) == 4
    claims = pd.read_csv(report.table("density_ratio_claims"))
    (c3,) = claims.loc[claims["text"].str.startswith("C3"), "verdict"]
    assert c3 == "confirmed"
