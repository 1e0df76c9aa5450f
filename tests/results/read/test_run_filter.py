"""Filtering and ordering of runs."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from support.runs import make_folder, make_run
from support.user_errors import raises_user_error

from bnnbench.results.compare.outcomes import all_pairs
from bnnbench.results.metric_table import printed_in
from bnnbench.results.read.run_filter import RunFilter, filter_runs
from bnnbench.results.read.run_tables import USER_PUBLISHED_COLUMNS, Runs, read_runs

VALUE = {
    **dict.fromkeys(USER_PUBLISHED_COLUMNS, ""),
    "method": "swag",
    "dataset": "boston",
    "metric": "rmse",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("outputs")
    for dataset in ("boston", "yacht"):
        for method in ("bbb_x1", "pbp", "vadam"):
            make_run(folder, dataset=dataset, method=method)
    make_run(folder, dataset="boston", method="map")
    names = {"experiment": "line", "dataset": "line", "method": "bbb"}
    make_folder(folder, names, "v1", "toy")
    return read_runs(folder)


def named(table: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(table["dataset"], table["method"], strict=True))


def test_runs_are_selected_and_sorted_in_the_requested_order(runs: Runs) -> None:
    found = filter_runs(runs, RunFilter(("vadam", "bbb_x1"), ("yacht", "boston")))
    expected = [("yacht", "vadam"), ("yacht", "bbb_x1"), ("boston", "vadam"), ("boston", "bbb_x1")]
    assert named(found.scored) == expected
    assert set(found.splits["run"]) == set(found.scored.index) == set(found.folders)
    assert list(found.tables) == ["splits"], "the toy matches neither name"
    pairs = all_pairs(found)
    names = found.scored["method"]
    assert pairs["dataset"].unique().tolist() == ["yacht", "boston"]
    assert pairs["run_a"].map(names).unique().tolist() == ["vadam"]


def test_selecting_methods_keeps_all_data_sets_and_vice_versa(runs: Runs) -> None:
    assert named(filter_runs(runs, RunFilter(methods=("pbp",))).scored) == [
        ("boston", "pbp"), ("yacht", "pbp"),
    ]  # fmt: skip
    boston = [pair for pair in named(runs.scored) if pair[0] == "boston"]
    assert named(filter_runs(runs, RunFilter(datasets=("boston",))).scored) == boston
    assert filter_runs(runs, RunFilter()) is runs


def test_filtered_runs_have_their_own_cache(runs: Runs) -> None:
    every = runs.cached(all_pairs)
    assert len(filter_runs(runs, RunFilter(("vadam", "pbp"))).cached(all_pairs)) < len(every)


def test_unknown_names_are_refused_and_available_ones_listed(runs: Runs) -> None:
    with raises_user_error("--methods", "unknown_name") as error:
        filter_runs(runs, RunFilter(methods=("vadam", "vadm")))
    assert "(available: bbb, bbb_x1, map, pbp, vadam)" in str(error.value)
    with raises_user_error("--datasets", "unknown_name"):
        filter_runs(runs, RunFilter(datasets=("wine",)))
    with raises_user_error("--metric", "unknown_name"):
        RunFilter(metrics=("mse",))
    with raises_user_error("--methods", "no_run"):
        filter_runs(runs, RunFilter(("map",), ("yacht",)))


def test_methods_of_the_users_published_values_can_be_selected(runs: Runs) -> None:
    with_value = replace(runs, user_published=pd.DataFrame([VALUE]))
    found = filter_runs(with_value, RunFilter(("swag", "pbp"), ("boston",)))
    assert named(found.scored) == [("boston", "pbp")] and named(found.user_published) == [
        ("boston", "swag")
    ]
    assert filter_runs(with_value, RunFilter(("pbp",))).user_published.empty


def test_requested_metrics_replace_the_default_ones() -> None:
    default = printed_in("figures")
    assert RunFilter().metrics_or(default) == RunFilter().metrics_among(default) == default
    requested = RunFilter(metrics=("crps", "rmse"))
    assert [metric.key for metric in requested.metrics_or(default)] == ["crps", "rmse"]
    assert [metric.key for metric in requested.metrics_among(default)] == ["rmse"]
