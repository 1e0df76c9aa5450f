"""Labels contain the settings that distinguish runs, and nothing else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.runs import divergence_metadata, make_run, metadata_of

from bnnbench.results.read.labels import (
    common_marked_labels,
    common_settings,
    full_name,
    labels,
    short_name,
)
from bnnbench.results.read.run_tables import read_runs

SHORT = {"training__epochs": 5, "training__final_epochs": 5}
NARROW = {"network__width": 20}
BOUNDS = "bounds.noise_precision"
OWN_DATA = {"dataset__class": "bnnbench.data.own_table.source.OwnTable"}

LABELS: dict[str, dict[str, dict[str, Any]]] = {
    "the predicted noise and the loss": {
        "bbb_x1, gaussian, nll": {},
        "bbb_x1, heteroscedastic": {"likelihood": "heteroscedastic"},
        "bbb_x1, gaussian, beta": {"loss": "beta"},
    },
    "settings, but no values of the published protocol": {
        "vadam, seed 7": {"method": "vadam"},
        "vadam, epochs 5, seed 7": {"method": "vadam", "settings": {"training__epochs": 5}},
        "vadam, width 20, seed 7": {"method": "vadam", "settings": NARROW},
        "vadam, width 20, seed 8": {"method": "vadam", "settings": NARROW, "seed": 8},
    },
    "deviations from the protocol": {
        "vadam, epochs 5": {"method": "vadam", "settings": SHORT},
        "vadam, width 20": {"method": "vadam", "settings": NARROW},
    },
    "every value on other data": {
        "bbb_x1, epochs 40": {"settings": {"training__epochs": 40, **OWN_DATA}},
        "bbb_x1, epochs 5": {"settings": {"training__epochs": 5, **OWN_DATA}},
    },
    "defaults where they distinguish runs": {
        "bbb_x1, epochs 5, final epochs 5": {"settings": SHORT},
        "bbb_x1, epochs 5, final epochs 40": {"settings": {"training__epochs": 5}},
        "bbb_x1, epochs 40, final epochs 40": {},
    },
    "no default search bounds": {
        "bbb_x1": {"times": 5, "settings": {BOUNDS: [1.0, math.exp(5)]}},
        "bbb_x1, bounds of noise precision 1/1000": {"times": 5, "settings": {BOUNDS: [1, 1000]}},
    },
}
"""Runs on boston, by their labels."""


@pytest.mark.parametrize("name", LABELS)
def test_labels_contain(tmp_path: Path, name: str) -> None:
    for k, run in enumerate(LABELS[name].values()):
        make_run(tmp_path, f"v{k}", **run)
    assert labels(read_runs(tmp_path).scored).tolist() == list(LABELS[name])


def test_labels_name_only_what_differs(tmp_path: Path) -> None:
    make_run(tmp_path)
    make_run(tmp_path, "v2", depth=2)
    make_run(tmp_path, "v3", depth=2)
    make_run(tmp_path, dataset="yacht")
    table = read_runs(tmp_path).scored
    expected = ["bbb_x1, depth 1", "bbb_x1, depth 2, v2", "bbb_x1, depth 2, v3", "bbb_x1, depth 1"]
    assert labels(table).tolist() == expected and labels(table).index.equals(table.index)
    ignored = labels(table, ignore=("depth",)).tolist()
    assert ignored == ["bbb_x1", "bbb_x1, v2", "bbb_x1, v3", "bbb_x1"]


TECHNICAL = {"training__compile": "always", "evaluation__out_of_fold": False}
SEED = {"seed": 1}

OVER_DATA_SETS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "what distinguishes runs on one data set is named on all": (
        [{"dataset": "boston"}, {"dataset": "yacht"}, {"dataset": "yacht", **SEED}],
        ["vadam, seed 7", "vadam, seed 7", "vadam, seed 1"],
    ),
    "so is the depth": (
        [{"dataset": "boston"}, {"dataset": "boston", "depth": 2}, {"dataset": "yacht"}],
        ["vadam, depth 1", "vadam, depth 2", "vadam, depth 1"],
    ),
    "other settings on another data set": (
        [{"dataset": "boston"}, {"dataset": "yacht", "settings": SHORT}],
        ["vadam", "vadam, epochs 5"],
    ),
    "another model on another data set": (
        [{"dataset": "boston"}, {"dataset": "yacht", "likelihood": "heteroscedastic"}],
        ["vadam, gaussian", "vadam, heteroscedastic"],
    ),
    "not what the protocol sets by data set": (
        [{"dataset": "boston"}, {"dataset": "protein"}, {"dataset": "yacht", "experiment": "own"}],
        ["vadam", "vadam", "vadam"],
    ),
    "no technical setting where another one differs": (
        [
            {"dataset": "boston", "settings": {"training__compile": "never"}},
            {"dataset": "yacht", "settings": TECHNICAL},
            {"dataset": "yacht", "settings": SHORT},
        ],
        ["vadam", "vadam", "vadam, epochs 5"],
    ),
}
"""Runs of a method, and their labels."""


@pytest.mark.parametrize("name", OVER_DATA_SETS)
def test_a_configuration_has_one_label_on_all_data_sets(tmp_path: Path, name: str) -> None:
    runs, expected = OVER_DATA_SETS[name]
    for k, run in enumerate(runs):
        make_run(tmp_path, f"v{k}", method="vadam", **run)
    assert labels(read_runs(tmp_path).scored).tolist() == expected


def test_results_over_data_sets_share_a_mark(tmp_path: Path) -> None:
    make_run(tmp_path, times=5)
    make_run(tmp_path, dataset="yacht")
    make_run(tmp_path, dataset="wine", method="pbp")
    found = common_marked_labels(read_runs(tmp_path).scored)
    mark = " (settings differ: 4 of 20 splits on yacht)"
    assert set(found) == {f"bbb_x1{mark}", "pbp (settings differ: 4 of 20 splits)"}


def test_the_full_name_of_a_single_run() -> None:
    assert full_name(metadata_of(method="vadam")) == "vadam on boston, seed 7, experiment uci"
    other = metadata_of(**divergence_metadata("js"), likelihood="heteroscedastic", depth=2)
    expected = "bbb_x1 on boston, js, heteroscedastic, depth 2, seed 7, experiment uci"
    assert full_name(other) == expected


def test_common_settings_are_listed_or_counted() -> None:
    table = pd.DataFrame({"experiment": ["uci"] * 4, "seed": [0, 1, 2, 3]})
    assert common_settings(table) == "experiment uci · 4 seeds"
    assert common_settings(table.iloc[:2]) == "experiment uci · seeds 0, 1"
    assert common_settings(table.iloc[:1].assign(track="book")) == "track book · seed 0"


def test_short_name_contains_data_set_and_method() -> None:
    assert short_name({"dataset": "boston", "method": "vadam"}) == "boston, vadam"
