"""Which runs a reader wants, in which order."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from support.runs import make_folder, make_run

from bnnbench.results.choice import Choice, chosen
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import BESIDE, Runs, read_runs
from bnnbench.results.significance import all_pairs
from bnnbench.types import UserError

VALUE = {**dict.fromkeys(BESIDE, ""), "method": "swag", "dataset": "boston", "metric": "rmse"}


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


def test_runs_are_chosen_and_ordered_as_they_are_named(runs: Runs) -> None:
    found = chosen(runs, Choice(("vadam", "bbb_x1"), ("yacht", "boston")))
    expected = [("yacht", "vadam"), ("yacht", "bbb_x1"), ("boston", "vadam"), ("boston", "bbb_x1")]
    assert named(found.scored) == expected
    assert set(found.splits["run"]) == set(found.scored.index) == set(found.folders)
    assert list(found.tables) == ["splits"], "the line has neither"
    pairs = all_pairs(found)
    names = found.scored["method"]
    assert pairs["dataset"].unique().tolist() == ["yacht", "boston"]
    assert pairs["run_a"].map(names).unique().tolist() == ["vadam"]


def test_one_of_both_leaves_the_other_as_it_was(runs: Runs) -> None:
    assert named(chosen(runs, Choice(methods=("pbp",))).scored) == [
        ("boston", "pbp"), ("yacht", "pbp"),
    ]  # fmt: skip
    usual = [method for dataset, method in named(runs.scored) if dataset == "boston"]
    assert [m for _, m in named(chosen(runs, Choice(datasets=("boston",))).scored)] == usual
    assert chosen(runs, Choice()) is runs


def test_what_was_computed_of_all_runs_is_not_that_of_some(runs: Runs) -> None:
    every = runs.once(all_pairs)
    assert len(chosen(runs, Choice(("vadam", "pbp"))).once(all_pairs)) < len(every)


def test_what_is_not_there_is_named_with_what_is(runs: Runs) -> None:
    with pytest.raises(UserError, match="--methods: there is no 'vadm' here, but bbb, bbb_x1, map"):
        chosen(runs, Choice(methods=("vadam", "vadm")))
    with pytest.raises(UserError, match="--datasets: there is no 'wine' here, but boston, line, y"):
        chosen(runs, Choice(datasets=("wine",)))
    with pytest.raises(UserError, match="--metric: there is no 'mse' here, but rmse, log_likelih"):
        Choice(metrics=("mse",))
    with pytest.raises(UserError, match="no finished run of map on yacht"):
        chosen(runs, Choice(("map",), ("yacht",)))


def test_a_method_may_be_one_that_was_brought(runs: Runs) -> None:
    with_value = replace(runs, beside=pd.DataFrame([VALUE]))
    found = chosen(with_value, Choice(("swag", "pbp"), ("boston",)))
    assert named(found.scored) == [("boston", "pbp")] and named(found.beside) == [
        ("boston", "swag")
    ]
    assert chosen(with_value, Choice(("pbp",))).beside.empty


def test_metrics_wanted_come_before_the_usual_ones() -> None:
    usual = printed_in("figures")
    assert Choice().wanted(usual) == Choice().among(usual) == usual
    choice = Choice(metrics=("crps", "rmse"))
    assert [metric.key for metric in choice.wanted(usual)] == ["crps", "rmse"]
    assert [metric.key for metric in choice.among(usual)] == ["rmse"]
