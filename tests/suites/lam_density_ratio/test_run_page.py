"""The page of a sprinkler run, on runs with given numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.sprinkler_runs import finished_run, sprinkler

from bnnbench.results.claims.claims import NOT_JUDGED
from bnnbench.results.claims.saved_run import CLAIMS, read_answers
from bnnbench.suites.lam_density_ratio.comparison.evidence import read_sprinkler
from bnnbench.suites.lam_density_ratio.names import CURVES, OK, STUCK
from bnnbench.suites.lam_density_ratio.run_page import (
    FINAL,
    PAGE,
    SUCCESS_RATE,
    median_repetition,
    run_notes,
    run_table,
)

ENDS = (1.30, 1.40, 1.50)
UNDERTRAINED, QUICK = "schedule=undertrained", "schedule=quick"
MISSING = "–"  # noqa: RUF001


@pytest.mark.slow
def test_the_page_of_a_run(tmp_path: Path) -> None:
    folder = finished_run(tmp_path, UNDERTRAINED, ends=ENDS, page=True)
    answers = read_answers(folder)
    row = answers[answers["quantity"] == "average KL"].iloc[0]
    assert row["value"] == pytest.approx(1.4)
    assert row["standard_error"] == pytest.approx(0.1 / np.sqrt(3))
    assert (row["exact"], row["published"]) == (1.3241, 1.3641)
    assert row["setting"] == "3 of 30 repetitions"
    rate = answers[answers["quantity"] == SUCCESS_RATE].set_index("approximation")
    assert rate.at[FINAL, "value"] == 1
    assert set(PAGE.figures(folder)) == set(PAGE.captions) == {"learning_curves", "posteriors"}
    assert all(folder.figure(name, "png").stat().st_size > 5000 for name in PAGE.captions)
    verdicts = pd.read_csv(folder.table(CLAIMS), keep_default_na=False)["verdict"]
    assert {*verdicts} <= {NOT_JUDGED, "undecided"}
    assert PAGE.kind == sprinkler(tmp_path).experiment.kind


def test_the_table_compares_with_exact_draws_and_the_thesis(tmp_path: Path) -> None:
    table = run_table(finished_run(tmp_path, UNDERTRAINED, ends=ENDS))
    titles = [column.title for column in table.columns]
    assert titles == [
        "score", "mean ± stderr", "std", "exact", "thesis (settings differ)", "thesis std",
    ]  # fmt: skip
    assert table.rows[0] == ("average KL", "1.400 ± 0.058", "0.082", "1.3241", "1.3641", "0.0141")
    assert "divisor n" in table.caption and "3 repetitions, 0 failed" in table.title
    nelbo = next(row for row in table.rows if row[0] == "NELBO")
    assert nelbo[3] == "3.8508"


@pytest.mark.parametrize(
    ("ends", "size", "std"),
    [
        ([1.4], "1 repetition, 0 failed", MISSING),
        ([1.4, 9.0], "2 repetitions, 1 failed", MISSING),
        ([1.4, 1.4, 9.0], "3 repetitions, 1 failed", "0"),
    ],
)
def test_one_repetition_has_no_spread(
    tmp_path: Path, ends: list[float], size: str, std: str
) -> None:
    status = [STUCK if end == 9 else OK for end in ends]
    table = run_table(finished_run(tmp_path, QUICK, ends=ends, status=status))
    assert table.title.endswith(f": {size}") and table.rows[0][2] == std


@pytest.mark.usefixtures("without_figures")
def test_failures_are_counted_and_named(tmp_path: Path) -> None:
    relu, status = ("estimator=relu_ratio", "schedule=optimal"), [OK, STUCK, STUCK, OK] * 5
    folder = finished_run(tmp_path, *relu, ends=[1.4, 9.0, 9.0, 1.5] * 5, status=status, page=True)
    table, notes = run_table(folder), run_notes(folder)
    assert table.rows[0][1] == "1.450 ± 0.017" and "20 repetitions, 10 failed" in table.title
    assert notes[0].startswith("10 of 20 repetitions failed") and STUCK in notes[0]
    assert any(note.startswith("confirmed: C3") for note in notes)
    assert any("iterations 4000" in note for note in notes)


def test_a_run_in_which_all_repetitions_failed_has_a_page(tmp_path: Path) -> None:
    relu, status = ("estimator=relu_ratio", QUICK), [STUCK, STUCK]
    folder = finished_run(tmp_path, *relu, ends=[9.0, 9.0], status=status, page=True)
    assert not folder.table(CURVES).exists()
    assert not folder.figure("learning_curves", "png").exists()
    run = read_sprinkler(folder)
    assert run.mean_curve.empty and median_repetition(run) is None
    assert run_table(folder).rows[0][1] == MISSING


def test_other_data_have_no_floor_and_the_joint_contrast_has_a_warning(tmp_path: Path) -> None:
    other = finished_run(tmp_path, "data=[0,5,8,12,20]", QUICK, ends=ENDS)
    assert run_table(other).rows[0][3] == MISSING
    for words, warned in (([], True), (["observations=model"], False)):
        joint = finished_run(tmp_path, "contrast=joint", *words, QUICK, ends=ENDS)
        assert any("five atoms" in note for note in run_notes(joint)) == warned
