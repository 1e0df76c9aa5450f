"""Published values: which runs they are compared with, and z-scores."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs import divergence_metadata, identity_for, make_run, metadata_of

from bnnbench.results.published.comparison import with_published
from bnnbench.results.published.splits import published_splits
from bnnbench.results.published.values import (
    COUNTERPARTS,
    UNPUBLISHED_METHODS,
    counterpart,
    published_uci,
    z_score,
)
from bnnbench.results.reader import read_runs
from bnnbench.results.settings import flatten


def row(**changes: Any) -> dict[str, Any]:
    """Return metadata and settings of a run that follows the protocol except for the changes."""
    names = metadata_of(**changes)
    return {**names, "settings": flatten(identity_for(names)), "splits": 20}


def test_published_values_and_their_standard_errors() -> None:
    vadam = counterpart(row(method="vadam"), "rmse")
    assert vadam is not None
    assert (vadam.mean, vadam.stderr) == (3.85754, 0.26262)
    assert vadam.source == "Khan et al. 2018: Vadam"
    dropout = counterpart(row(method="mc_dropout_x1"), "log_likelihood")
    assert dropout is not None and dropout.mean == -2.460037
    ensembles = published_uci().query("metric == 'rmse' and error_kind == 'std'").iloc[0]
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
        divergence_metadata("renyi", 0.5),
        {"dataset": "protein"},
        {"likelihood": "heteroscedastic"},
        {"loss": "beta"},
        {"method": "svgd"},
        *({"method": name} for name in UNPUBLISHED_METHODS),
    ],
)
def test_other_models_and_data_have_no_published_value(other: dict[str, Any]) -> None:
    assert counterpart(row(method="vadam"), "rmse") is not None
    assert counterpart(row(**{"method": "vadam", **other}), "rmse") is None


def test_the_two_log_likelihoods_are_distinguished() -> None:
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


def test_a_users_data_set_of_the_same_name_has_no_published_value() -> None:
    run = row(method="vadam")
    own_table = "bnnbench.data.own_table.source.OwnTable"
    run["settings"] = {**run["settings"], "dataset.class": own_table}
    assert counterpart(run, "rmse") is None


def test_a_run_with_other_settings_has_no_z(tmp_path: Path) -> None:
    make_run(tmp_path, times=5, settings={"training__epochs": 5})
    make_run(tmp_path, "short")
    table = with_published(read_runs(tmp_path))
    assert table["settings_differ"].tolist() == ["4 of 20 splits", "epochs 5"]
    assert table["rmse_published"].tolist() == [3.58808] * 2 and table["rmse_z"].isna().all()


def test_the_value_with_the_most_similar_settings_is_used() -> None:
    """BBB is compared with the SLANG paper if it has its settings, otherwise with Khan et al."""
    run = row()
    default = counterpart(run, "rmse")
    assert default is not None and "BBVI" in default.source
    slang = {"training.epochs": 120, "training.final_epochs": 120, "training.batch_size": 10}
    other = {**run, "settings": {**run["settings"], **slang}, "splits": 5}
    closest = counterpart(other, "rmse")
    assert closest is not None and "SLANG" in closest.source
    other["settings"] = {**other["settings"], "bounds.noise_precision": (46, 126)}
    assert counterpart(other, "rmse") == closest, "one setting differs instead of four"


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
