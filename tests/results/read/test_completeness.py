"""Which runs are complete, and the losses by which runs are ranked."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from support.runs import LOST, lose_splits, make_run

from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_filter import RunFilter, filter_runs
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.read.split_means import comparable_losses

SPLITS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "the same splits": ({"a": "pqrs", "b": "pqrs"}, {}),
    "in another order": ({"a": "pqrs", "b": "srqp"}, {}),
    "fewer": ({"a": "pqrs", "b": "pqr"}, {"b": "3 of 4 splits"}),
    "fewer, of the majority": (
        {"a": "pqrs", "b": "pq", "c": "pq"},
        {"b": "2 of 4 splits", "c": "2 of 4 splits"},
    ),
    "as many, of which some are others": ({"a": "pqrs", "b": "pqrt"}, {"b": "other splits"}),
    "others": ({"a": "pqrs", "b": "tu"}, {}),
    "parts of a third run's": (
        {"a": "pq", "b": "rs", "c": "pqrs"},
        {"a": "2 of 4 splits", "b": "2 of 4 splits"},
    ),
}
"""Splits of each method, and why a method is incomplete."""


@pytest.mark.parametrize("name", SPLITS)
def test_a_run_is_incomplete_if_it_lacks_splits_of_the_others(tmp_path: Path, name: str) -> None:
    splits, expected = SPLITS[name]
    for method, letters in splits.items():
        rows = {"fingerprint": list(letters), "split": range(len(letters))}
        scores = dict.fromkeys(("rmse", "log_likelihood_joint", "log_likelihood"), 1.0)
        gaussian = {"log_likelihood_gaussian": 1.0, "at_bound": ""}
        make_run(tmp_path, method=method, **scores, **gaussian, **rows)
    table = read_runs(tmp_path).scored.set_index("method")
    assert table["incomplete"][table["incomplete"] != ""].to_dict() == expected


def test_a_selection_is_compared_with_its_own_runs(tmp_path: Path) -> None:
    make_run(tmp_path, method="many", times=5)
    for method in ("few", "three"):
        make_run(tmp_path, method=method)
    runs = read_runs(tmp_path)
    assert runs.scored["incomplete"].tolist() == ["4 of 20 splits", "", "4 of 20 splits"]
    selected = filter_runs(runs, RunFilter(methods=("few", "three")))
    assert selected.scored["incomplete"].tolist() == ["", ""]


@pytest.mark.parametrize("metric", ["rmse", "log_likelihood"])
@pytest.mark.parametrize("name", LOST)
def test_diverged_runs_are_behind_all_others(tmp_path: Path, name: str, metric: str) -> None:
    for method in ("a", "b"):
        make_run(tmp_path, times=5, method=method)
    lose_splits(make_run(tmp_path, times=5, method="c"), **LOST[name])
    runs = read_runs(tmp_path)
    losses = comparable_losses(runs.scored, BY_KEY[metric]).set_axis(runs.scored["method"])
    assert losses["a"] == losses["b"]
    assert math.isnan(losses["c"]) if "kept" in LOST[name] else losses["c"] > losses["a"]
