"""Published values: which run they stand beside, and how far ours are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs import identity_by, make_run, names_of, of_order

from bnnbench.results.published import (
    COUNTERPARTS,
    UNPUBLISHED,
    counterpart,
    published,
    z_score,
)
from bnnbench.results.published_splits import published_splits
from bnnbench.results.reader import read_runs
from bnnbench.results.settings import flatten
from bnnbench.results.with_published import with_published


def row(**changes: Any) -> dict[str, Any]:
    """Names and settings of a run that follows the protocol but for the changes."""
    names = names_of(**changes)
    return {**names, "settings": flatten(identity_by(names)), "splits": 20}


def test_published_values_and_their_standard_errors() -> None:
    vadam = counterpart(row(method="vadam"), "rmse")
    assert vadam is not None
    assert (vadam.mean, vadam.stderr) == (3.85754, 0.26262)
    assert vadam.source == "Khan et al. 2018: Vadam"
    dropout = counterpart(row(method="mc_dropout_x1"), "log_likelihood")
    assert dropout is not None and dropout.mean == -2.460037
    ensembles = published().query("metric == 'rmse' and error_kind == 'std'").iloc[0]
    assert ensembles["stderr"] == pytest.approx(ensembles["error"] / math.sqrt(20))
    rounded = counterpart(row(method="pbp", dataset="kin8nm"), "rmse")
    assert rounded is not None and math.isnan(rounded.stderr)


@pytest.mark.parametrize("family", COUNTERPARTS)
def test_every_family_has_a_published_value(family: str) -> None:
    metrics = ("rmse", "log_likelihood", "log_likelihood_joint")
    assert any(counterpart(row(method=family), metric) for metric in metrics)


@pytest.mark.parametrize(
    "other",
    [
        {"depth": 2},
        of_order("renyi", 0.5),
        {"dataset": "protein"},
        {"likelihood": "heteroscedastic"},
        {"loss": "beta"},
        {"method": "deep_ensemble"},
        *({"method": name} for name in UNPUBLISHED),
    ],
)
def test_only_like_is_compared_with_like(other: dict[str, Any]) -> None:
    assert counterpart(row(method="vadam"), "rmse") is not None
    assert counterpart(row(**{"method": "vadam", **other}), "rmse") is None


def test_the_two_log_likelihoods_are_kept_apart() -> None:
    assert counterpart(row(), "log_likelihood") is None
    joint = counterpart(row(), "log_likelihood_joint")
    assert joint is not None and "SLANG" in joint.method


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


def test_data_of_the_same_name_are_not_the_published_ones() -> None:
    mine = row(method="vadam")
    own = "bnnbench.data.own_table.source.OwnTable"
    mine["settings"] = {**mine["settings"], "dataset.class": own}
    assert counterpart(mine, "rmse") is None


def test_a_run_of_other_settings_stands_beside_without_z(tmp_path: Path) -> None:
    make_run(tmp_path, times=5, settings={"training__epochs": 5})
    make_run(tmp_path, "short")
    table = with_published(read_runs(tmp_path))
    assert table["settings_differ"].tolist() == ["4 of 20 splits", "epochs 5"]
    assert table["rmse_published"].tolist() == [3.58808] * 2 and table["rmse_z"].isna().all()


def test_a_value_of_like_settings_is_preferred() -> None:
    """BBB as the SLANG paper trained it stands beside that paper, as the book's beside Khan's."""
    run = row()
    usual = counterpart(run, "rmse")
    assert usual is not None and "BBVI" in usual.source
    slang = {"training.epochs": 120, "training.final_epochs": 120, "training.batch_size": 10}
    other = {**run, "settings": {**run["settings"], **slang}, "splits": 5}
    like = counterpart(other, "rmse")
    assert like is not None and "SLANG" in like.source
    other["settings"] = {**other["settings"], "bounds.noise_precision": (46, 126)}
    nearest = counterpart(other, "rmse")
    assert nearest == like, "by one setting from one and by four from the other"


def test_a_value_of_other_known_settings_has_no_z(tmp_path: Path) -> None:
    """MC dropout was published with other steps than the protocol's, and without a search."""
    make_run(tmp_path, times=5, method="mc_dropout_x1")
    (found,) = with_published(read_runs(tmp_path)).to_dict("records")
    assert found["settings_differ"] == "" and found["rmse_published"] == 2.97351
    assert found["rmse_differs"] == "learning rate 0.01, test samples 100, search bo"
    assert math.isnan(found["rmse_z"])


def test_slight_differences_are_said_and_keep_z(tmp_path: Path) -> None:
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
