"""The scores of every split, with the sign by which lower is better."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.grids import make_grid
from support.made_data import make_curve_run
from support.runs import make_folder, make_run, of_order

from bnnbench.results.losses_by_split import losses_by_split
from bnnbench.results.reader import read_runs


def test_families_of_orders_stand_elsewhere(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5, "js": 3})
    make_grid(tmp_path, {"kl": 6}, depth=2)
    for order in (0.5, 2, 3):
        kind = of_order("alpha", order)
        make_grid(tmp_path, {kind["divergence"]: 3 + order}, **kind)
    losses = losses_by_split(read_runs(tmp_path))
    assert set(losses["label"]) == {"bbb, kl", "bbb, js", "bbb"} and len(losses) == 3 * 4
    assert losses["log_likelihood"].min() == pytest.approx(0.27)


def test_diverged_splits_and_lone_ones_are_left_out(tmp_path: Path) -> None:
    make_run(tmp_path, diverged=[0, 1, 0, 0])
    make_curve_run(tmp_path, scale=1.0, dataset="toy")
    losses = losses_by_split(read_runs(tmp_path))
    assert losses["split"].tolist() == [0, 2, 3] and set(losses["dataset"]) == {"boston"}
    assert losses_by_split(read_runs(tmp_path / "uci" / "toy")).empty


def test_runs_without_splits_have_none(tmp_path: Path) -> None:
    names = {"experiment": "line", "dataset": "line", "method": "bbb"}
    make_folder(tmp_path, names, "v1", "toy")
    assert losses_by_split(read_runs(tmp_path)).empty
