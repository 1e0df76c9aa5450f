"""Runs next to published values, and paired with published scores of the same splits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.published_methods import DEEP_ENSEMBLE_2024, DROPOUT, DROPOUT_2018
from support.runs import make_run
from support.tables import configured_source

from bnnbench.data.splits import subset_fingerprints
from bnnbench.results.compare.published_scores import (
    paired_with_published,
    pairs_with_published,
    with_published,
    z_score,
)
from bnnbench.results.published.values import published_means, published_splits
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.reference.results import read_reference_results

MC_DROPOUT = {"method": "mc_dropout_x1", "family": "mc_dropout"}

WGBOOST = "WGBoost (trees, Normal, 10 particles)"

PUBLISHED_RUNS = {
    "Gal & Ghahramani 2016": ({"method": "mc_dropout_gal2016", "family": "mc_dropout"}, {}),
    "Gal 2018": (
        {"method": "mc_dropout_2018", "family": "mc_dropout"},
        {
            **dict.fromkeys(("training__epochs", "training__final_epochs"), 4000),
            **{"training__batch_size": 128, "training__learning_rate": 0.001},
            **{"method__weight_init": "glorot", "method__bias_prior": False},
        },
    ),
    "Arnold et al. 2024": ({"method": "laplace"}, {}),
    "Walz et al. 2024": (
        {"method": "deep_ensemble"},
        {
            "training__learning_rate": 0.001,
            **{"method__weight_init": "glorot", "method__searched_members": 1},
        },
    ),
}
"""Metadata and settings of runs that have a published counterpart, by its source."""


def theirs(dataset: str = "boston", method: str = DROPOUT, splits: int = 4) -> Any:
    rows = published_splits()
    return rows[(rows["dataset"] == dataset) & (rows["method"] == method)].head(splits)


@pytest.mark.parametrize(
    ("source", "year", "counts"),
    [
        ("Gal & Ghahramani", 2016, {"rmse": 165, "log_likelihood": 165}),
        ("Matsubara", 2024, {"rmse": 145, "log_likelihood": 145}),
        ("Gal", 2018, {"rmse": 330, "log_likelihood": 330}),
        ("Walz et al.", 2024, {"log_likelihood": 165, "crps": 165}),
        (
            *("Arnold et al.", 2024),
            {"rmse": 80, "log_likelihood": 80, "crps": 400, "coverage_90": 80},
        ),
    ],
)
def test_every_source_has_its_scores(source: str, year: int, counts: dict[str, int]) -> None:
    rows = published_splits().query("source == @source and year == @year")
    found = rows[["rmse", "log_likelihood", "crps", "coverage_90"]].count()
    assert found[found > 0].to_dict() == counts


def test_scores_by_split_have_the_published_means_and_errors() -> None:
    """Standard deviations of Gal's repository have divisor n, not n - 1."""
    means = published_means().set_index(["method", "dataset", "metric"])
    checked = 0
    for (method, dataset), rows in published_splits().groupby(["method", "dataset"]):
        assert rows["split"].tolist() == list(range(5 if dataset == "protein" else 20))
        for metric in ("rmse", "log_likelihood", "crps"):
            gaussian = f"{metric}_gaussian" if method == DEEP_ENSEMBLE_2024 else metric
            if (method, dataset, gaussian) not in means.index:
                assert rows[metric].isna().all()
                continue
            row = means.loc[(method, dataset, gaussian)]
            assert rows[metric].mean() == pytest.approx(row["mean"], rel=1e-3)
            std = rows[metric].std(ddof=int(method not in (DROPOUT, DROPOUT_2018)))
            error = std / np.sqrt(len(rows))
            assert error == pytest.approx(row["error"], rel=0.01)
            checked += 1
    assert checked == 2 * 9 + 2 * 8 + 2 * 18 + 2 * 9 + 4 * 7


@pytest.mark.parametrize(
    ("dataset", "rmse", "log_likelihood"),
    [
        ("boston", 2.90, -2.40), ("concrete", 4.82, -2.93), ("energy", 0.54, -1.21),
        ("kin8nm", 0.08, 1.14), ("naval", 0.00, 4.45), ("power", 4.01, -2.80),
        ("protein", 4.27, -2.87), ("wine", 0.62, -0.93), ("yacht", 0.67, -1.25),
    ],
)  # fmt: skip
def test_means_of_2018_are_those_of_the_readme(
    dataset: str, rmse: float, log_likelihood: float
) -> None:
    """The README rounds some numbers towards zero."""
    rows = theirs(dataset, DROPOUT_2018, splits=20)
    assert rows["rmse"].mean() == pytest.approx(rmse, abs=0.01)
    assert rows["log_likelihood"].mean() == pytest.approx(log_likelihood, abs=0.01)


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
    rivals = {metric: {*own.reset_index()["b"]} for metric, own in pairs.groupby("metric")}
    assert {"MC-Dropout grid search per split, Gal 2018", row.name[0]} <= rivals["rmse"]
    unknown = {
        f"{name}, Arnold et al. 2024*"
        for name in ("Laplace", "MC-Dropout", "Single Gaussian", "EasyUQ", "Split conformal")
    }
    assert rivals["crps"] == {*unknown, "Deep Ensembles, Walz et al. 2024"}


def test_a_run_that_diverged_is_worse_only_by_published_metrics(tmp_path: Path) -> None:
    rows = theirs(method=WGBOOST)
    rmse, prints = rows["rmse"].where([False, True, True, True]), rows["fingerprint"]
    make_run(tmp_path, method="vadam", rmse=rmse, diverged=[1, 0, 0, 0], fingerprint=prints)
    pairs = pairs_with_published(read_runs(tmp_path))
    assert set(pairs.loc[pairs["b"].str.startswith("WGBoost"), "metric"]) == {
        "rmse",
        "log_likelihood",
    }


def test_differences_are_paired_by_split(tmp_path: Path) -> None:
    shift = np.array([0.1, 0.3, 0.2, 0.4])
    rmse = theirs()["rmse"].to_numpy() + shift
    tested = theirs()["fingerprint"].tolist()
    make_run(tmp_path, rmse=rmse[::-1], fingerprint=tested[::-1], **MC_DROPOUT)
    paired = paired_with_published(read_runs(tmp_path))
    (row,) = paired[paired["source"].str.endswith(DROPOUT)].to_dict("records")
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
        {**MC_DROPOUT, "fingerprint": ["p", "q", "r", "s"]},
        {**MC_DROPOUT, "dataset": "diabetes"},
        {**MC_DROPOUT, "depth": 2},
    ],
)
def test_other_runs_are_not_paired(tmp_path: Path, changes: dict[str, Any]) -> None:
    make_run(tmp_path, **{"fingerprint": theirs()["fingerprint"].tolist(), **changes})
    assert paired_with_published(read_runs(tmp_path)).empty


@pytest.mark.parametrize("source", PUBLISHED_RUNS)
def test_a_run_is_paired_with_the_source_of_its_settings(tmp_path: Path, source: str) -> None:
    """Our CRPS of an ensemble is that of the mixture, Walz et al. print that of one Gaussian."""
    metadata, settings = PUBLISHED_RUNS[source]
    columns = ("rmse", "log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian", "crps")
    scores = {name: np.linspace(1, 2, 20) for name in columns}
    rows = theirs(splits=20)
    make_run(
        tmp_path,
        **{**metadata, **scores, "split": range(20), "at_bound": ""},
        fingerprint=rows["fingerprint"].to_numpy(),
        settings=settings,
    )
    (run,) = with_published(read_runs(tmp_path)).to_dict("records")
    found = {name for name in columns if str(run[f"{name}_source"]).startswith(source)}
    assert found == {
        "Arnold et al. 2024": {"rmse", "log_likelihood", "crps"},
        "Walz et al. 2024": {"log_likelihood_gaussian"},
    }.get(source, {"rmse", "log_likelihood"})
    for name in found:
        published = theirs("boston", run[f"{name}_source"].split(": ")[1], splits=20)
        other = published[name.removesuffix("_gaussian")].mean()
        assert run[f"{name}_paired"] == pytest.approx(1.5 - other)
        assert run[f"{name}_paired_splits"] == 20
        if source == "Arnold et al. 2024":
            assert run[f"{name}_differs"] == "unknown" and math.isnan(run[f"{name}_z"])


def test_fingerprints_are_those_of_the_reference_results() -> None:
    rows = published_splits().merge(
        read_reference_results().fingerprints, on=["dataset", "split"], suffixes=("", "_ours")
    )
    assert len(rows) == len(published_splits())
    assert rows["fingerprint"].equals(rows["fingerprint_ours"])


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
