"""Identical configurations under different names, and distinct names of different ones.

Scores never decide which run is shown.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs import RMSE, make_run

from bnnbench.report.blocks import DataFile, Style
from bnnbench.report.report_writer import build_sections
from bnnbench.results.read.configurations import distinct_names, without_duplicates
from bnnbench.results.read.run_filter import RunFilter, filter_runs
from bnnbench.results.read.run_tables import Runs, read_runs

BBB = {"method__class": "bnnbench.methods.bbb.BBB"}

Named = tuple[str, dict[str, Any]]

RUNS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "a preset that changes nothing": (
        [{"method": "bbb"}, {"method": "bbb_x1"}],
        ["bbb on boston"],
    ),
    "a preset that changes a setting": (
        [{"method": "bbb"}, {"method": "bbb_x2", "settings": {"training__samples": 20}}],
        ["bbb on boston", "bbb_x2 on boston"],
    ),
    "an experiment with the same settings": (
        [{"method": "bbb", "experiment": "book_uci"}, {"method": "bbb", "experiment": "uci"}],
        ["bbb on boston"],
    ),
    "other saved files": (
        [{"method": "bbb"}, {"method": "bbb", "settings": {"evaluation__save_objective": True}}],
        ["bbb on boston"],
    ),
    "another seed": (
        [{"method": "bbb"}, {"method": "bbb", "seed": 8}],
        ["bbb on boston", "bbb on boston"],
    ),
    "the name on most data sets": (
        [
            {"method": "bbb"},
            {"method": "bbb_x1"},
            {"method": "bbb_x1", "dataset": "yacht"},
        ],
        ["bbb_x1 on boston", "bbb_x1 on yacht"],
    ),
    "the complete run": (
        [{"method": "bbb", "times": 1}, {"method": "bbb_x1"}],
        ["bbb_x1 on boston"],
    ),
    "the same name of another class": (
        [{"method": "bbb"}, {"method": "mine", "settings": {"method__class": "mine.Other"}}],
        ["bbb on boston", "mine on boston"],
    ),
}
"""Runs, and those that remain."""


def make_runs(path: Path, name: str) -> Runs:
    for k, run in enumerate(RUNS[name][0]):
        settings = {**BBB, **run.get("settings", {})}
        make_run(path, f"v{k}", **{"times": 5, **run, "settings": settings})
    return read_runs(path)


@pytest.mark.parametrize("name", RUNS)
def test_a_configuration_counts_once_on_a_data_set(tmp_path: Path, name: str) -> None:
    every = make_runs(tmp_path, name)
    runs = without_duplicates(every)
    table = runs.scored
    assert (table["method"] + " on " + table["dataset"]).tolist() == RUNS[name][1]
    assert set(runs.splits["run"]) == set(table.index)
    assert len(runs.notes) == (len(every.scored) > len(table))


def test_a_selected_name_is_kept(tmp_path: Path) -> None:
    runs = make_runs(tmp_path, "a preset that changes nothing")
    selected = without_duplicates(filter_runs(runs, RunFilter(methods=("bbb_x1",))))
    assert selected.scored["method"].tolist() == ["bbb_x1"] and not selected.notes


def test_verdicts_and_pairs_count_configurations(tmp_path: Path) -> None:
    make_run(tmp_path, times=5, method="pbp", rmse=np.array(RMSE) + 1)
    runs = make_runs(tmp_path, "a preset that changes nothing")
    found = {b.name: b for b in build_sections(runs, Style()) if isinstance(b, DataFile)}
    pairs = found["comparisons"].table
    assert set(pairs["a"]) | set(pairs["b"]) == {"bbb", "pbp"} and len(pairs) == 3
    assert found["results"].table["method"].tolist() == ["bbb", "pbp"]


@pytest.mark.parametrize("best", [0, 1])
def test_other_configurations_are_labelled(tmp_path: Path, best: int) -> None:
    for number, width in enumerate((50, 20)):
        loss = 1.0 if number == best else 2.0
        make_run(tmp_path, f"v{number}", settings={"network__width": width}, rmse=loss)
    make_run(tmp_path, dataset="yacht")
    table = read_runs(tmp_path).scored
    names = distinct_names(table["method"], table, ["dataset"])
    assert sorted(names) == ["bbb_x1", "bbb_x1", "bbb_x1, width 20"]
    assert not names.to_frame().assign(dataset=table["dataset"]).duplicated().any()


@pytest.mark.parametrize("best", [3, 4])
def test_of_several_seeds_the_lowest_is_kept(tmp_path: Path, best: int) -> None:
    for seed in (4, 3):
        make_run(tmp_path, f"seed{seed}", seed=seed, rmse=1.0 if seed == best else 2.0)
    table = read_runs(tmp_path).scored
    (kept,) = distinct_names(table["method"], table, ["dataset"]).index
    assert table.loc[kept, "seed"] == 3


def test_more_splits_come_before_lower_seeds(tmp_path: Path) -> None:
    for seed, times in ((3, 1), (4, 2)):
        make_run(tmp_path, f"seed{seed}", seed=seed, times=times)
    table = read_runs(tmp_path).scored
    (kept,) = distinct_names(table["method"], table, ["dataset"]).index
    assert table.loc[kept, "seed"] == 4
