"""Mean ranks and significance tests on Demsar's example, and the selection of runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.runs import LOST, lose_splits, make_run

from bnnbench.results.compare.ranking import largest_block, rank_scores, rankings
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_tables import read_runs

DEMSAR = pd.DataFrame(
    [
        (4, 3, 2, 1), (1, 2, 3, 4), (4, 1, 2, 3), (4, 1, 3, 2), (4, 2, 3, 1),
        (1, 2.5, 4, 2.5), (3, 2, 4, 1), (2.5, 2.5, 4, 1), (4, 3, 2, 1), (2.5, 2.5, 2.5, 2.5),
        (4, 2.5, 1, 2.5), (3, 2, 4, 1), (4, 1, 2, 3), (3, 1, 4, 2),
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)  # fmt: skip
"""Table 6 of Demsar (2006): the ranks of four learners on 14 data sets."""

ERROR = BY_KEY["rmse"]


def test_demsars_example() -> None:
    found = rank_scores(DEMSAR, ERROR)  # ranking ranks does not change them
    assert found.ranks.equals(DEMSAR.astype(float))
    means = {"C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143}
    assert found.mean_ranks.round(3).to_dict() == means
    assert found.chi2 == pytest.approx(9.28, abs=0.005)
    assert found.f == pytest.approx(3.69, abs=0.005)
    assert found.critical_difference == pytest.approx(1.25, abs=0.005)
    assert 0.01 < found.p_value < 0.05  # above F(3, 39) = 2.85, the paper's critical value


def test_groups_are_maximal_sets_without_significant_differences() -> None:
    # By Nemenyi's test at 0.05, all four learners form one group: 3.143 - 1.964 < 1.25.
    assert rank_scores(DEMSAR, ERROR).groups() == [("C4.5+m+cf", "C4.5")]
    many = pd.DataFrame([(1.0, 2, 3, 4)] * 30, columns=list("abcd"))
    assert rank_scores(many, ERROR).critical_difference == pytest.approx(0.856, abs=0.001)
    assert rank_scores(many, ERROR).groups() == []
    few = pd.DataFrame([(1.0, 2, 3, 4)] * 14, columns=list("abcd"))
    assert rank_scores(few, ERROR).groups() == [("a", "b"), ("b", "c"), ("c", "d")]


def test_f_is_infinite_if_all_data_sets_agree() -> None:
    alike = rank_scores(pd.DataFrame([(1.0, 2, 3)] * 4, columns=list("abc")), ERROR)
    assert alike.chi2 == pytest.approx(8) and math.isinf(alike.f) and alike.p_value == 0


def test_higher_is_better_for_a_log_likelihood() -> None:
    scores = pd.DataFrame({"a": [-1.0], "b": [-3.0], "c": [-1.0]})
    assert rank_scores(scores, BY_KEY["log_likelihood"]).ranks.to_numpy().tolist() == [
        [1.5, 3, 1.5]
    ]


def test_the_methods_with_the_fewest_data_sets_are_left_out() -> None:
    present = pd.DataFrame(True, index=list("wxyz"), columns=[f"m{k}" for k in range(5)])
    present.loc[["y", "z"], "m4"] = False
    assert largest_block(present) == (list("wxyz"), ["m0", "m1", "m2", "m3"])
    present.loc[["y", "z"], "m3"] = False
    assert largest_block(present) == (list("wxyz"), ["m0", "m1", "m2"])
    assert largest_block(present.iloc[:1]) is None and largest_block(present.iloc[:, :2]) is None


@pytest.mark.parametrize("name", LOST)
def test_a_run_that_lacks_splits_is_last_or_not_ranked(tmp_path: Path, name: str) -> None:
    for dataset in ("boston", "yacht", "wine"):
        for level, method in enumerate(("best", "second", "third", "last")):
            own = {"dataset": dataset, "method": method}
            folder = make_run(tmp_path, times=5, rmse=1.0 + level + np.arange(4), **own)
            if (dataset, method) == ("wine", "best"):
                lose_splits(folder, **LOST[name])
    (found,) = rankings(read_runs(tmp_path), [ERROR])
    ranks, kept = found.by_metric[0].ranks, LOST[name].get("kept")
    if kept:
        assert list(ranks) == ["last", "second", "third"] and len(ranks) == 3
        assert found.excluded == (f"best (settings differ: {kept} of 20 splits on wine)",)
    else:
        assert ranks.loc["wine"].to_dict() == {"second": 1, "third": 2, "last": 3, "best": 4}
        assert ranks.loc["yacht", "best"] == 1 and not found.excluded


def test_runs_are_ranked_within_their_experiment(tmp_path: Path) -> None:
    for dataset in ("boston", "yacht"):
        for level, method in enumerate(("pbp", "vadam", "bbb_x1")):
            names = {"dataset": dataset, "method": method}
            make_run(tmp_path, rmse=1.0 + level + np.arange(4), crps=np.nan, **names)
    make_run(tmp_path, method="map", rmse=0.1)
    make_run(tmp_path, method="pbp", experiment="other", rmse=0.1)
    (found,) = rankings(read_runs(tmp_path))
    error, likelihood = found.by_metric
    assert error.mean_ranks.to_dict() == {
        "pbp (settings differ: 4 of 20 splits)": 1.0,
        "vadam (settings differ: 4 of 20 splits)": 2.0,
        "bbb_x1 (settings differ: 4 of 20 splits)": 3.0,
    }
    assert set(likelihood.mean_ranks) == {2.0} and likelihood.p_value == 1
    assert found.experiment == "uci" and len(found.runs) == 6
    assert found.excluded == ("map (settings differ: 4 of 20 splits)",)
    assert rankings(read_runs(tmp_path), [BY_KEY["crps"]]) == []  # no run has it
