"""Labels contain what distinguishes runs and nothing else."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
from support.runs import divergence_metadata, make_run, metadata_of

from bnnbench.results.labels import common_settings, full_name, labels
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
    assert labels(table, ignore=("depth",)).tolist() == [
        "bbb_x1", "bbb_x1, v2", "bbb_x1, v3", "bbb_x1",
    ]  # fmt: skip


def test_likelihood_and_loss_are_named_if_they_differ(tmp_path: Path) -> None:
    make_run(tmp_path, "plain")
    make_run(tmp_path, "predicted", likelihood="heteroscedastic")
    make_run(tmp_path, "robust", loss="beta")
    assert labels(read_runs(tmp_path).scored).tolist() == [
        "bbb_x1, gaussian, nll", "bbb_x1, heteroscedastic", "bbb_x1, gaussian, beta",
    ]  # fmt: skip


def test_runs_are_distinguished_by_the_settings_that_differ(tmp_path: Path) -> None:
    """Labels contain values rather than hashes, but no values of the published protocol."""
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


def test_runs_that_deviate_from_the_protocol_are_labelled_by_their_deviation(
    tmp_path: Path,
) -> None:
    short = {"training__epochs": 5, "training__final_epochs": 5}
    make_run(tmp_path, "a", method="vadam", settings=short)
    make_run(tmp_path, "b", method="vadam", settings={"network__width": 20})
    names = labels(read_runs(tmp_path).scored).tolist()
    assert names == ["vadam, epochs 5", "vadam, width 20"]


def test_on_other_data_every_value_is_part_of_the_label(tmp_path: Path) -> None:
    data = "bnnbench.data.own_table.source.OwnTable"
    for epochs in (5, 40):
        settings = {"training__epochs": epochs, "dataset__class": data}
        make_run(tmp_path, f"v{epochs}", dataset="mine", settings=settings)
    names = labels(read_runs(tmp_path).scored).tolist()
    assert sorted(names) == ["bbb_x1, epochs 40", "bbb_x1, epochs 5"]


def test_default_values_are_named_where_they_distinguish_runs(tmp_path: Path) -> None:
    make_run(tmp_path, "a", settings={"training__epochs": 5, "training__final_epochs": 5})
    make_run(tmp_path, "b", settings={"training__epochs": 5})
    make_run(tmp_path, "c")
    assert labels(read_runs(tmp_path).scored).tolist() == [
        "bbb_x1, epochs 5, final epochs 5", "bbb_x1, epochs 5, final epochs 40",
        "bbb_x1, epochs 40, final epochs 40",
    ]  # fmt: skip


def test_default_search_bounds_are_left_out(tmp_path: Path) -> None:
    default = {"bounds.noise_precision": [1.0, math.exp(5)]}
    make_run(tmp_path, "default", times=5, settings=default)
    make_run(tmp_path, "wide", times=5, settings={"bounds.noise_precision": [1, 1000]})
    found = set(labels(read_runs(tmp_path).scored))
    assert found == {"bbb_x1", "bbb_x1, bounds of noise precision 1/1000"}


def test_the_full_name_of_a_single_run() -> None:
    assert full_name(metadata_of(method="vadam")) == "vadam on boston, seed 7, experiment uci"
    other = metadata_of(**divergence_metadata("js"), likelihood="heteroscedastic", depth=2)
    expected = "bbb_x1 on boston, js, heteroscedastic, depth 2, seed 7, experiment uci"
    assert full_name(other) == expected


def test_common_settings_are_listed_or_counted() -> None:
    table = pd.DataFrame({"experiment": ["uci"] * 4, "seed": [0, 1, 2, 3]})
    assert common_settings(table) == "experiment uci · 4 seeds"
    assert common_settings(table.iloc[:2]) == "experiment uci · seeds 0, 1"
