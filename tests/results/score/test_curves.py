"""Scores of a curve that is right inside the range of the data and wrong outside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.runs import add_arrays, make_run
from support.synthetic_data import curve, make_curve_run

from bnnbench.experiment.store.split_files import OUT_OF_FOLD, PREDICTIONS, TRAINING
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.score.curves import curve_table, read_curve, read_curves


def test_inside_and_outside_are_scored_separately() -> None:
    (row,) = curve_table([curve()]).to_dict("records")
    assert [row["rmse_in"], row["rmse_out"]] == pytest.approx([0, 2])
    assert [row["epistemic_in"], row["epistemic_out"]] == pytest.approx([0.3, 0.6])
    assert [row["total_in"], row["total_out"]] == pytest.approx([0.5, 1.0])
    assert [row["coverage_95_in"], row["coverage_95_out"]] == [1, 0]


def test_curves_are_read_from_runs_on_synthetic_data_with_one_input(tmp_path: Path) -> None:
    for depth in (2, 1):
        make_curve_run(tmp_path, scale=1.0, depth=depth, dataset="toy")
    add_arrays(make_run(tmp_path))
    curves = read_curves(read_runs(tmp_path))
    assert [(c.run["label"], c.run["depth"]) for c in curves] == [("bbb_x1", 1), ("bbb_x1", 2)]
    assert curves[0].training["input"].tolist() == [0.0, 0.4, 1.0]
    assert read_curves(read_runs(tmp_path / "uci" / "boston")) == []


def test_training_points_may_come_from_out_of_fold_predictions(tmp_path: Path) -> None:
    folder = make_curve_run(tmp_path, scale=1.0)
    with np.load(folder.arrays(TRAINING)) as arrays:
        points = {name: arrays[name] for name in arrays.files}
    folder.arrays(TRAINING).unlink()
    predicted = dict.fromkeys(("mean", "epistemic_variance", "noise_variance"), np.ones(3))
    add_arrays(folder, OUT_OF_FOLD, points | predicted)
    (found,) = read_curves(read_runs(tmp_path))
    assert len(found.training) == 3


def test_a_curve_without_training_points(tmp_path: Path) -> None:
    folder = make_curve_run(tmp_path, scale=1.0)
    folder.arrays(TRAINING).unlink()
    assert read_curves(read_runs(tmp_path)) == []
    lone = read_curve(folder, {"method": "bbb", "synthetic": True, "inputs": 1})
    assert lone is not None and lone.training.empty and lone.run["label"] == "bbb"


def test_a_run_without_predictions_has_no_curve(tmp_path: Path) -> None:
    make_curve_run(tmp_path, scale=1.0).arrays(PREDICTIONS).unlink()
    assert read_curves(read_runs(tmp_path)) == []
