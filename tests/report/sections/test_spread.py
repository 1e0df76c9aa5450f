"""Scores of every split as losses."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.grids import make_grid
from support.runs import divergence_metadata, make_folder, make_run
from support.synthetic_data import make_curve_run

from bnnbench.report.sections.spread import losses_by_split
from bnnbench.results.reader import read_runs


def test_families_of_orders_are_left_out(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5, "js": 3})
    make_grid(tmp_path, {"kl": 6}, depth=2)
    for order in (0.5, 2, 3):
        kind = divergence_metadata("alpha", order)
        make_grid(tmp_path, {kind["divergence"]: 3 + order}, **kind)
    losses = losses_by_split(read_runs(tmp_path))
    assert set(losses["label"]) == {"bbb, kl", "bbb, js", "bbb"} and len(losses) == 3 * 4
    assert losses["log_likelihood"].min() == pytest.approx(0.27)


def test_diverged_splits_and_runs_of_one_split_are_left_out(tmp_path: Path) -> None:
    make_run(tmp_path, diverged=[0, 1, 0, 0])
    make_curve_run(tmp_path, scale=1.0, dataset="toy")
    losses = losses_by_split(read_runs(tmp_path))
    assert losses["split"].tolist() == [0, 2, 3] and set(losses["dataset"]) == {"boston"}
    assert losses_by_split(read_runs(tmp_path / "uci" / "toy")).empty


def test_runs_without_splits_have_no_losses(tmp_path: Path) -> None:
    names = {"experiment": "line", "dataset": "line", "method": "bbb"}
    make_folder(tmp_path, names, "v1", "toy")
    assert losses_by_split(read_runs(tmp_path)).empty
