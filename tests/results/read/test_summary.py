"""Summaries over splits, compared with numbers computed by hand, and unconverged splits."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from support.runs import make_splits

from bnnbench.results.metric_table import METRICS
from bnnbench.results.read.split_means import summarise, summarise_runs, to_wide
from bnnbench.results.score.run_notes import ESS, R_HAT, STEP_SIZE, unconverged_splits


def test_summary_matches_hand_computed_numbers() -> None:
    rows = summarise(make_splits()).set_index("metric")
    assert list(rows.index) == [metric.key for metric in METRICS]
    assert rows.loc["rmse"].tolist() == pytest.approx([5, math.sqrt(14 / 3), math.sqrt(14 / 12), 4])
    assert rows.loc["log_likelihood", "mean"] == pytest.approx(-2.5)
    assert rows.loc["total_seconds"].tolist() == [100, 0, 0, 4]


def test_diverged_splits_are_left_out() -> None:
    rmse = (3.0, 4.0, 5.0, math.nan)
    rows = summarise(make_splits(rmse=rmse, diverged=[0, 0, 0, 1])).set_index("metric")
    assert rows.loc["rmse"].tolist() == pytest.approx([4, 1, 1 / math.sqrt(3), 3])


def test_one_split_has_a_mean_but_no_standard_deviation() -> None:
    rmse = summarise(make_splits().head(1)).set_index("metric").loc["rmse"]
    assert rmse["mean"] == 3
    assert math.isnan(rmse["std"]) and math.isnan(rmse["stderr"])


def test_runs_are_summarised_separately_even_if_all_splits_diverged() -> None:
    splits = [
        make_splits().assign(run="good"),
        make_splits(diverged=1, rmse=math.nan).assign(run="diverged"),
        make_splits(**{"diag.kept_samples": 3.0}).assign(run="first"),
    ]
    summary = summarise_runs(pd.concat(splits, ignore_index=True))
    assert summary.loc[("good", "rmse")].tolist() == pytest.approx(
        [5, math.sqrt(14 / 3), math.sqrt(14 / 12), 4]
    )
    assert summary.loc[("diverged", "rmse"), "n"] == 0
    wide = to_wide(summary)
    assert wide["rmse_mean"].isna().to_dict() == {"good": False, "diverged": True, "first": False}
    assert wide.loc["first", "diag.kept_samples_mean"] == 3
    assert list(wide)[:3] == ["rmse_mean", "rmse_std", "rmse_stderr"]


def test_splits_are_judged_by_r_hat_and_effective_sample_sizes() -> None:
    splits = pd.DataFrame({"split": [0, 1, 2, 7], R_HAT: [1.01, 1.0, 1.02, math.nan]})
    splits = splits.assign(**dict.fromkeys(ESS, 400))
    assert unconverged_splits(splits) == [2, 7]
    splits.loc[1, ESS[1]] = 399
    assert unconverged_splits(splits) == [1, 2, 7]


@pytest.mark.parametrize("ess", [500.0, math.nan])
def test_chains_without_any_r_hat_have_not_converged(ess: float) -> None:
    splits = pd.DataFrame({"split": [0, 1], R_HAT: math.nan, STEP_SIZE: 0.1})
    assert unconverged_splits(splits.assign(**dict.fromkeys(ESS, ess))) == [0, 1]


def test_methods_without_r_hat_have_no_unconverged_splits() -> None:
    splits = pd.DataFrame({"split": [0, 1]})
    assert (
        unconverged_splits(splits) == unconverged_splits(splits.assign(**{R_HAT: math.nan})) == []
    )
