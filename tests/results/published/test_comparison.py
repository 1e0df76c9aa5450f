"""Runs next to published values, and paired with published scores of the same splits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs import make_run
from support.tables import configured_source

from bnnbench.data.splits import subset_fingerprints
from bnnbench.results.published.comparison import (
    paired_with_published,
    pairs_with_published,
    with_published,
)
from bnnbench.results.published.counterparts import z_score
from bnnbench.results.published.values import published_means, published_splits
from bnnbench.results.run_tables import read_runs

DROPOUT_2016 = "MC-Dropout original (1x50, 400 epochs, BO tau shared across splits)"
DROPOUT = {"method": "mc_dropout_x1", "family": "mc_dropout"}


WGBOOST = "WGBoost (trees, Normal, 10 particles)"


def theirs(dataset: str = "boston", method: str = DROPOUT_2016) -> Any:
    rows = published_splits()
    return rows[(rows["dataset"] == dataset) & (rows["method"] == method)].head(4)


def test_scores_by_split_have_the_published_means_and_errors() -> None:
    """Gal & Ghahramani's standard deviations have divisor n, not n - 1."""
    splits, means = published_splits(), published_means()
    means = means.set_index(["method", "dataset", "metric"])
    for (method, dataset), rows in splits.groupby(["method", "dataset"]):
        assert rows["split"].tolist() == list(range(5 if dataset == "protein" else 20))
        for metric in ("rmse", "log_likelihood"):
            row = means.loc[(method, dataset, metric)]
            assert rows[metric].mean() == pytest.approx(row["mean"], rel=1e-3)
            error = rows[metric].std(ddof=int(method == WGBOOST)) / np.sqrt(len(rows))
            assert error == pytest.approx(row["error"], rel=0.01)
    counts = splits.groupby("method")["dataset"].nunique()
    assert counts.to_dict() == {DROPOUT_2016: 9, WGBOOST: 8}


def test_power_of_another_sheet_is_not_of_the_public_splits() -> None:
    """WGBoost and NGBoost read the rows of power in another order."""
    assert theirs("power", WGBOOST).empty and len(theirs("power")) == 4
    modern = published_means().query("dataset == 'power'").set_index("method")
    assert WGBOOST not in modern.index
    assert set(modern.loc["NGBoost (trees, Normal)", "splits"]) == {"own"}


def test_any_method_is_paired_with_published_splits(tmp_path: Path) -> None:
    rows = theirs(method=WGBOOST)
    make_run(tmp_path, method="vadam", rmse=rows["rmse"] + 1, fingerprint=rows["fingerprint"])
    pairs = pairs_with_published(read_runs(tmp_path)).set_index(["b", "metric"])
    row = pairs.loc[("WGBoost, Matsubara 2024", "rmse")]
    assert (row["a"], row["splits"], row["difference"]) == ("vadam", 4, pytest.approx(1))
    assert row["p_worse"] == 1
    assert {b.split(",")[0] for b, _ in pairs.index} == {"WGBoost", "MC-Dropout original"}


def test_differences_are_paired_by_split(tmp_path: Path) -> None:
    shift = np.array([0.1, 0.3, 0.2, 0.4])
    rmse = theirs()["rmse"].to_numpy() + shift
    tested = theirs()["fingerprint"].tolist()
    make_run(tmp_path, rmse=rmse[::-1], fingerprint=tested[::-1], **DROPOUT)
    (row,) = paired_with_published(read_runs(tmp_path)).to_dict("records")
    assert (row["dataset"], row["method"], row["splits"]) == ("boston", "mc_dropout_x1", 4)
    assert row["rmse_difference"] == pytest.approx(0.25)
    assert row["rmse_stderr"] == pytest.approx(shift.std(ddof=1) / 2)
    assert row["rmse_ours"] - row["rmse_theirs"] == pytest.approx(0.25)
    assert row["rmse_correlation"] == pytest.approx(np.corrcoef(rmse, rmse - shift)[0, 1])
    assert "Gal & Ghahramani 2016" in row["source"]


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "vadam"},
        {"method": "mc_dropout_x10", "family": "mc_dropout"},
        {**DROPOUT, "fingerprint": ["p", "q", "r", "s"]},
        {**DROPOUT, "dataset": "diabetes"},
        {**DROPOUT, "depth": 2},
    ],
)
def test_other_runs_are_not_paired(tmp_path: Path, changes: dict[str, Any]) -> None:
    make_run(tmp_path, **{"fingerprint": theirs()["fingerprint"].tolist(), **changes})
    assert paired_with_published(read_runs(tmp_path)).empty


def test_fingerprints_are_those_of_the_public_splits() -> None:
    published = published_splits()
    for name in ("boston", "concrete", "energy", "yacht"):
        table = configured_source(name)[0].load()
        test_rows = [split.test for split in table.splits]
        for _, rows in published[published["dataset"] == name].groupby("method"):
            assert rows["fingerprint"].tolist() == subset_fingerprints(table, test_rows)


def test_z_counts_combined_standard_errors(tmp_path: Path) -> None:
    assert z_score(5, 3, 15, 4) == -2
    assert math.isnan(z_score(5, 3, 15, math.nan))
    assert math.isnan(z_score(5, 0, 15, 0))
    make_run(tmp_path, times=5)
    make_run(tmp_path, "deep", depth=2, times=5)
    table = with_published(read_runs(tmp_path)).set_index("depth")
    flat = table.loc[1]
    assert flat["rmse_z"] == pytest.approx((5 - 3.58808) / math.sqrt(70 / 19 / 20 + 0.20933**2))
    assert math.isnan(flat["log_likelihood_z"]) and flat["log_likelihood_source"] == ""
    assert np.isnan(table.loc[2, "rmse_published"])


def test_a_run_with_other_settings_has_no_z(tmp_path: Path) -> None:
    make_run(tmp_path, times=5, settings={"training__epochs": 5})
    make_run(tmp_path, "short")
    table = with_published(read_runs(tmp_path))
    assert table["settings_differ"].tolist() == ["4 of 20 splits", "epochs 5"]
    assert table["rmse_published"].tolist() == [3.58808] * 2 and table["rmse_z"].isna().all()


def test_a_published_value_with_other_settings_has_no_z(tmp_path: Path) -> None:
    """MC dropout was published with another learning rate and without a search."""
    make_run(tmp_path, times=5, method="mc_dropout_x1")
    (found,) = with_published(read_runs(tmp_path)).to_dict("records")
    assert found["settings_differ"] == "" and found["rmse_published"] == 2.97351
    assert (
        found["rmse_differs"]
        == "learning rate 0.01, test samples 100, search bayesian_optimisation"
    )
    assert math.isnan(found["rmse_z"])


def test_minor_differences_are_listed_and_do_not_remove_z(tmp_path: Path) -> None:
    make_run(tmp_path, times=5, method="vadam")
    (found,) = with_published(read_runs(tmp_path)).to_dict("records")
    assert found["rmse_differs"] == "search objective per_point"
    assert math.isfinite(found["rmse_z"]) and math.isnan(found["rmse_paired"])


def test_published_scores_of_single_splits_are_paired(tmp_path: Path) -> None:
    theirs = published_splits().query("dataset == 'boston'").head(4)
    ours = theirs["rmse"] + np.array([0.1, 0.3, 0.2, 0.4])
    tested = theirs["fingerprint"].tolist()
    make_run(tmp_path, method="mc_dropout_x1", rmse=ours.to_numpy(), fingerprint=tested)
    (found,) = with_published(read_runs(tmp_path)).to_dict("records")
    assert found["rmse_paired"] == pytest.approx(0.25) and found["rmse_paired_splits"] == 4
    assert found["rmse_paired_stderr"] == pytest.approx(np.std([0.1, 0.3, 0.2, 0.4], ddof=1) / 2)
    assert found["log_likelihood_joint_paired_splits"] == 0
