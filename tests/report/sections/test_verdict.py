"""The verdict in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.blocks import blocks, texts
from support.runs import LOST, RMSE, lose_splits, make_run

from bnnbench.report.blocks import Style
from bnnbench.report.report_writer import verdict_lines
from bnnbench.report.sections import verdict
from bnnbench.results.compare.outcomes import rule as rule_in_words
from bnnbench.results.read.run_filter import RunFilter
from bnnbench.results.read.run_tables import read_runs

RMSE_ONLY = Style(run_filter=RunFilter(metrics=("rmse",)))
WAVE = np.array([0.1, -0.1, 0.05, -0.05])


def said(path: Path) -> list[str]:
    return texts(blocks(verdict.section, path, RMSE_ONLY))


def test_the_best_the_beaten_and_the_undecided_are_named(tmp_path: Path) -> None:
    for method, rmse in (("vadam", 0 * WAVE), ("pbp", 2 + WAVE), ("mine", 0.3 + 6 * WAVE)):
        make_run(tmp_path, times=5, method=method, rmse=np.array(RMSE) + rmse)
    sentence, rule = said(tmp_path)
    assert sentence == (
        "boston, RMSE: vadam has the best mean (5.00 ± 0.43). It is significantly better than "
        "pbp by 2.0. Undecided against: mine."
    )
    assert rule.startswith(rule_in_words())
    assert [line.text for line in verdict_lines(read_runs(tmp_path), RMSE_ONLY)] == [
        f"- {sentence}"
    ]


def test_the_wins_of_each_run_are_counted_over_data_sets(tmp_path: Path) -> None:
    for dataset, lead in (("boston", 0), ("wine", 0), ("yacht", 5)):
        make_run(tmp_path, times=5, dataset=dataset, method="vadam", rmse=np.array(RMSE) + lead)
        make_run(tmp_path, times=5, dataset=dataset, method="pbp", rmse=np.array(RMSE) + 2 + WAVE)
    summary, *sentences, _ = said(tmp_path)
    assert "vadam on boston, wine; pbp on yacht." in summary
    assert "significantly better in 3 of 3 comparisons" in summary
    assert len(sentences) == 3


def test_one_run_is_not_compared(tmp_path: Path) -> None:
    make_run(tmp_path)
    (sentence,) = said(tmp_path)
    assert "vadam" not in sentence and "bbb_x1, the only run, has 5.0 ± 1.1" in sentence


def test_runs_without_common_splits_are_not_tested(tmp_path: Path) -> None:
    make_run(tmp_path, method="vadam", diverged=[0, 0, 0, 1], rmse=(3.0, 4.0, 5.0, np.nan))
    make_run(tmp_path, method="pbp", fingerprint=list("pqrs"))
    (sentence,) = said(tmp_path)
    assert "pbp has the best mean (5.0 ± 1.1)" in sentence
    assert "Not tested against the others" in sentence


SAID = {
    "three of twenty splits": "Not ranked: best (3 of 20 splits).",
    "nineteen of twenty splits": "Not ranked: best (19 of 20 splits).",
    "seventeen diverged splits": "It is significantly better than best (17 diverged splits).",
    "one diverged split": "It is significantly better than best (1 diverged split).",
    "every split diverged": "Diverged on every split: best.",
}
"""What the verdict says of the run with the lowest error."""


@pytest.mark.parametrize("name", LOST)
def test_a_run_that_lacks_splits_is_not_the_best(tmp_path: Path, name: str) -> None:
    make_run(tmp_path, times=5, method="second", rmse=np.array(RMSE))
    lose_splits(make_run(tmp_path, times=5, method="best", rmse=np.array(RMSE) - 1), **LOST[name])
    (sentence, *_) = said(tmp_path)
    assert sentence.startswith("boston, RMSE: second has the best mean (5.00 ± 0.43).")
    assert sentence.endswith(SAID[name])


@pytest.mark.slow
def test_thirty_runs_are_counted(tmp_path: Path) -> None:
    for k in range(30):
        make_run(tmp_path, times=5, method=f"m{k:02d}", rmse=np.array(RMSE) + k // 15 * (1 + WAVE))
    sentence, _ = said(tmp_path)
    assert "It is significantly better than 15 of 29 others by 1.0 to 1.0." in sentence
    assert "Equivalent to it: m01, m02, m03 and 11 more runs." in sentence


def test_a_run_that_diverged_everywhere_is_named(tmp_path: Path) -> None:
    make_run(tmp_path, method="vadam")
    make_run(tmp_path, method="pbp", diverged=1, rmse=np.nan)
    assert said(tmp_path)[0].endswith("Diverged on every split: pbp.")


def test_names_with_commas_are_joined_by_semicolons() -> None:
    assert verdict.listed(["vadam", "pbp"]) == "vadam, pbp"
    assert verdict.listed(["bbb, depth 1", "pbp"]) == "bbb, depth 1; pbp"
