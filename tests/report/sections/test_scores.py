"""Points of scores and of paired differences."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from support.blocks import blocks, figures
from support.runs import LOST, RMSE, lose_splits, make_run

from bnnbench.report.blocks import Style
from bnnbench.report.figures.points import MAX_LINES, Panel, PointsBlock
from bnnbench.report.sections import scores, significance

WAVE = np.array([0.1, -0.1, 0.05, -0.05])


def panels(section: object, path: Path, name: str, error: str = "stderr") -> tuple[Panel, ...]:
    block = figures(blocks(section, path, Style(error)))[name]  # type: ignore[arg-type]
    assert isinstance(block, PointsBlock)
    return block.panels


@pytest.mark.parametrize(("error", "size", "splits"), [("std", 14 / 3, 20), ("stderr", 14 / 12, 1)])
def test_scores_are_sorted_with_the_chosen_interval_for_published_values_too(
    tmp_path: Path, error: str, size: float, splits: int
) -> None:
    make_run(tmp_path, method="vadam", rmse=np.array(RMSE) + 1)
    make_run(tmp_path)
    make_run(tmp_path, dataset="yacht", rmse=0.5)
    boston, yacht = panels(scores.section, tmp_path, "rmse", error)
    assert [(p.name, bool(p.source)) for p in boston.points] == [
        ("bbb_x1", False), ("bbb_x1", True), ("vadam", False), ("vadam", True),
    ]  # fmt: skip
    ours, theirs, *_ = boston.points
    assert (ours.value, ours.error) == pytest.approx((5, math.sqrt(size)))
    assert theirs.error == pytest.approx(0.20933 * math.sqrt(splits))
    assert boston.centre == 5 and yacht.title == "yacht"


@pytest.mark.parametrize("name", LOST)
def test_a_run_that_lacks_splits_comes_last_and_unfilled(tmp_path: Path, name: str) -> None:
    make_run(tmp_path, times=5, method="second", rmse=np.array(RMSE))
    lose_splits(make_run(tmp_path, times=5, method="best", rmse=np.array(RMSE) - 1), **LOST[name])
    (boston,) = panels(scores.section, tmp_path, "rmse")
    assert [point.filled for point in boston.points if not point.source] == [True, False]
    mark = f" ({LOST[name]['kept']} of 20 splits)" if "kept" in LOST[name] else ""
    assert boston.names == ["second", f"best{mark}"] and boston.centre == 5


@pytest.mark.slow
def test_the_best_runs_are_shown_and_those_not_worse_filled(tmp_path: Path) -> None:
    for k in range(MAX_LINES + 2):
        rmse = np.array(RMSE) + k * (1 + WAVE)
        make_run(tmp_path, times=5, method=f"m{k}", rmse=rmse, log_likelihood=rmse)
    (lower,) = panels(scores.section, tmp_path, "rmse")
    assert lower.names == [f"m{k}" for k in range(MAX_LINES)]
    assert [point.filled for point in lower.points] == [True] + [False] * (MAX_LINES - 1)
    (higher,) = panels(scores.section, tmp_path, "log_likelihood")
    assert higher.names[0] == f"m{MAX_LINES + 1}"


def test_differences_are_those_to_the_best_and_between_all_pairs(tmp_path: Path) -> None:
    for method, rmse in (("vadam", 0 * WAVE), ("pbp", 2 + WAVE), ("mine", 0.3 + 6 * WAVE)):
        make_run(tmp_path, times=5, method=method, rmse=np.array(RMSE) + rmse)
    make_run(tmp_path, dataset="yacht")
    (boston,) = panels(significance.section, tmp_path, "difference_rmse")
    assert boston.names == ["vadam", "mine", "pbp"] and boston.centre == 0
    assert [point.value for point in boston.points] == pytest.approx([0, 0.3, 2])
    assert [point.filled for point in boston.points] == [True, False, True]
    found = {frozenset(pair[:2]): pair[2:] for pair in boston.differences}
    assert len(found) == 3
    difference, error, decided = found[frozenset({"pbp", "vadam"})]
    assert abs(difference) == pytest.approx(2) and decided
    assert error == pytest.approx(boston.points[2].error)
