"""The best run on each data set, and the others compared with it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from support.runs import RMSE, make_run

from bnnbench.results.compare.outcomes import Verdict, all_pairs, compare_with, find_verdicts
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_tables import read_runs

WAVE = np.array([0.1, -0.1, 0.05, -0.05])


def verdicts_of(path: Path, metric: str = "rmse") -> list[Verdict]:
    runs = read_runs(path)
    return list(find_verdicts(runs.scored, all_pairs(runs), BY_KEY[metric]))


def test_every_run_has_one_outcome_against_the_best(tmp_path: Path) -> None:
    scores = {
        "winner": np.array(RMSE),
        "loser": np.array(RMSE) + 1 + WAVE,
        "twin": np.array(RMSE) + 0.1 * WAVE + 0.001,
        "unclear": np.array(RMSE) + 0.2 + 6 * WAVE,
    }
    for method, rmse in scores.items():
        make_run(tmp_path, times=5, method=method, rmse=rmse, log_likelihood=-rmse)
    make_run(tmp_path, method="apart", rmse=np.array(RMSE) + 2, fingerprint=list("pqrs"))
    make_run(tmp_path, method="lost", diverged=1, rmse=math.nan, log_likelihood=math.nan)
    make_run(tmp_path, dataset="yacht", method="winner")
    boston, yacht = verdicts_of(tmp_path)
    methods = boston.scores["method"]
    assert methods[boston.best] == "winner"
    found = {
        outcome: [methods[run] for run in boston.runs(outcome)]
        for outcome in ("worse", "equivalent", "undecided", "better")
    }
    assert found == {
        "worse": ["loser"], "equivalent": ["twin"], "undecided": ["unclear"], "better": [],
    }  # fmt: skip
    assert [methods[run] for run in boston.untested] == ["apart"]
    assert len(boston.diverged) == 1 and boston.diverged[0] not in methods
    gaps = boston.others["difference"].set_axis(methods[boston.others.index])
    assert gaps["loser"] == pytest.approx(1) and gaps["unclear"] == pytest.approx(0.2)
    assert yacht.others.empty and not yacht.untested


def test_the_best_has_the_highest_score_if_higher_is_better(tmp_path: Path) -> None:
    for method, score in (("low", -3.0), ("high", -1.0)):
        make_run(tmp_path, method=method, log_likelihood=score + WAVE, times=5)
    (verdict,) = verdicts_of(tmp_path, "log_likelihood")
    assert verdict.scores["method"].tolist() == ["high", "low"]
    assert verdict.others["difference"].tolist() == pytest.approx([-2])
    assert verdict.others["outcome"].tolist() == ["worse"]


def test_a_comparison_has_the_same_outcome_from_both_sides(tmp_path: Path) -> None:
    for place, method in enumerate(("a", "b", "c")):
        make_run(tmp_path, method=method, rmse=np.array(RMSE) + place + WAVE * place, times=5)
    pairs = all_pairs(read_runs(tmp_path))
    own = pairs[pairs["metric"] == "rmse"]
    first, second = own[["run_a", "run_b"]].to_numpy()[0]
    there, back = compare_with(first, own).loc[second], compare_with(second, own).loc[first]
    assert there["difference"] == -back["difference"]
    assert (there["low"], there["high"]) == (-back["high"], -back["low"])
    assert {there["outcome"], back["outcome"]} == {"better", "worse"}
