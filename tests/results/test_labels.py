"""Names that tell runs apart, and say no more than that."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
from support.runs import make_run, names_of, of_order

from bnnbench.results.labels import full_name, in_common, labels
from bnnbench.results.reader import read_runs


def test_labels_name_only_what_differs(tmp_path: Path) -> None:
    make_run(tmp_path)
    make_run(tmp_path, "v2", depth=2)
    make_run(tmp_path, "v3", depth=2)
    make_run(tmp_path, dataset="yacht")
    table = read_runs(tmp_path).scored
    assert labels(table).tolist() == [
        "bbb_x1, depth 1",
        "bbb_x1, depth 2, v2",
        "bbb_x1, depth 2, v3",
        "bbb_x1",
    ]
    assert labels(table).index.equals(table.index)
    assert labels(table, aside=("depth",)).tolist() == [
        "bbb_x1", "bbb_x1, v2", "bbb_x1, v3", "bbb_x1",
    ]  # fmt: skip


def test_a_predicted_noise_or_a_robust_loss_is_named(tmp_path: Path) -> None:
    make_run(tmp_path, "plain")
    make_run(tmp_path, "predicted", likelihood="heteroscedastic")
    make_run(tmp_path, "robust", loss="beta")
    assert labels(read_runs(tmp_path).scored).tolist() == [
        "bbb_x1, gaussian, nll", "bbb_x1, heteroscedastic", "bbb_x1, gaussian, beta",
    ]  # fmt: skip


def test_settings_that_differ_tell_runs_apart(tmp_path: Path) -> None:
    """By what they are, not by a hash; what is as the published protocol has it goes unsaid."""
    make_run(tmp_path, "a", method="vadam")
    make_run(tmp_path, "b", method="vadam", settings={"training__epochs": 5})
    make_run(tmp_path, "c", method="vadam", settings={"network__width": 20})
    make_run(tmp_path, "d", method="vadam", settings={"network__width": 20}, seed=8)
    assert labels(read_runs(tmp_path).scored).tolist() == [
        "vadam, seed 7",
        "vadam, epochs 5, seed 7",
        "vadam, width 20, seed 7",
        "vadam, width 20, seed 8",
    ]


def test_two_runs_off_the_protocol_say_where_each_is(tmp_path: Path) -> None:
    short = {"training__epochs": 5, "training__final_epochs": 5}
    make_run(tmp_path, "a", method="vadam", settings=short)
    make_run(tmp_path, "b", method="vadam", settings={"network__width": 20})
    names = labels(read_runs(tmp_path).scored).tolist()
    assert names == ["vadam, epochs 5", "vadam, width 20"]


def test_on_other_data_every_value_is_said(tmp_path: Path) -> None:
    data = "bnnbench.data.own_table.source.OwnTable"
    for epochs in (5, 40):
        settings = {"training__epochs": epochs, "dataset__class": data}
        make_run(tmp_path, f"v{epochs}", dataset="mine", settings=settings)
    names = labels(read_runs(tmp_path).scored).tolist()
    assert sorted(names) == ["bbb_x1, epochs 40", "bbb_x1, epochs 5"]


def test_what_goes_unsaid_is_said_where_it_tells_runs_apart(tmp_path: Path) -> None:
    make_run(tmp_path, "a", settings={"training__epochs": 5, "training__final_epochs": 5})
    make_run(tmp_path, "b", settings={"training__epochs": 5})
    make_run(tmp_path, "c")
    assert labels(read_runs(tmp_path).scored).tolist() == [
        "bbb_x1, epochs 5, final epochs 5", "bbb_x1, epochs 5, final epochs 40",
        "bbb_x1, epochs 40, final epochs 40",
    ]  # fmt: skip


def test_the_usual_bounds_of_a_search_go_unsaid(tmp_path: Path) -> None:
    usual = {"bounds.noise_precision": [1.0, math.exp(5)]}
    make_run(tmp_path, "usual", times=5, settings=usual)
    make_run(tmp_path, "wide", times=5, settings={"bounds.noise_precision": [1, 1000]})
    found = set(labels(read_runs(tmp_path).scored))
    assert found == {"bbb_x1", "bbb_x1, bounds of noise precision 1/1000"}


def test_a_run_that_stands_alone_is_named_in_full() -> None:
    assert full_name(names_of(method="vadam")) == "vadam on boston, seed 7, experiment uci"
    other = names_of(**of_order("js"), likelihood="heteroscedastic", depth=2)
    said = "bbb_x1 on boston, js, heteroscedastic, depth 2, seed 7, experiment uci"
    assert full_name(other) == said


def test_what_many_runs_have_in_common_is_said_or_counted() -> None:
    table = pd.DataFrame({"experiment": ["uci"] * 4, "seed": [0, 1, 2, 3]})
    assert in_common(table) == "experiment uci · 4 seeds"
    assert in_common(table.iloc[:2]) == "experiment uci · seeds 0, 1"
