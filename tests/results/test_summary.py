"""Means and spreads over splits, against numbers that can be checked by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from support.runs import make_splits

from bnnbench.results.metrics import METRICS
from bnnbench.results.summary import over_splits, side_by_side, summarise


def test_summary_matches_hand_computed_numbers() -> None:
    rows = summarise(make_splits()).set_index("metric")
    assert list(rows.index) == [metric.key for metric in METRICS]
    assert rows.loc["rmse"].tolist() == pytest.approx([5, math.sqrt(14 / 3), math.sqrt(14 / 12), 4])
    assert rows.loc["log_likelihood", "mean"] == pytest.approx(-2.5)
    assert rows.loc["total_seconds"].tolist() == [100, 0, 0, 4]


def test_summary_leaves_diverged_splits_out() -> None:
    rmse = (3.0, 4.0, 5.0, math.nan)
    rows = summarise(make_splits(rmse=rmse, diverged=[0, 0, 0, 1])).set_index("metric")
    assert rows.loc["rmse"].tolist() == pytest.approx([4, 1, 1 / math.sqrt(3), 3])


def test_one_split_has_a_mean_and_no_spread() -> None:
    rmse = summarise(make_splits().head(1)).set_index("metric").loc["rmse"]
    assert rmse["mean"] == 3
    assert math.isnan(rmse["std"]) and math.isnan(rmse["stderr"])


def test_runs_are_summarised_each_by_itself_even_if_all_is_lost() -> None:
    pieces = [
        make_splits().assign(run="good"),
        make_splits(diverged=1, rmse=math.nan).assign(run="lost"),
        make_splits(**{"diag.kept_samples": 3.0}).assign(run="told"),
    ]
    spreads = over_splits(pd.concat(pieces, ignore_index=True))
    assert spreads.loc[("good", "rmse")].tolist() == pytest.approx(
        [5, math.sqrt(14 / 3), math.sqrt(14 / 12), 4]
    )
    assert spreads.loc[("lost", "rmse"), "n"] == 0
    wide = side_by_side(spreads)
    assert wide["rmse_mean"].isna().tolist() == [False, True, False]
    assert wide.loc["told", "diag.kept_samples_mean"] == 3
    assert list(wide)[:3] == ["rmse_mean", "rmse_std", "rmse_stderr"]
