"""The note on intervals that reach below 0, although no target does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs import add_arrays, make_run

from bnnbench.results.read.run_files import read_splits
from bnnbench.results.score.run_notes import below_zero_note, impossible_intervals

MANY, FEW, NONE = (np.where(np.arange(100) < count, -1.0, 1.0) for count in (6, 5, 0))

OFFER = "dataset.log_target=true"


@pytest.mark.parametrize(
    ("lower", "smallest", "offered"),
    [
        (MANY, 0.01, True),
        (MANY, 30_000.0, True),
        (-np.ones(3), 1e-12, True),
        (np.full(20, -1e-9), 7, True),
        (np.array([-5.0]), 2.5, True),
        (MANY, 0.0, False),
        (-np.ones(3), 0, False),
        (MANY, -0.0, False),
    ],
)
def test_impossible_intervals(lower: np.ndarray, smallest: float, offered: bool) -> None:
    (note,) = below_zero_note(lower, {"smallest_target": smallest}, 0.9, "the rows")
    assert (OFFER in note) == offered and "90 %" in note and not note.endswith(".")


@pytest.mark.parametrize(
    ("lower", "run"),
    [
        (FEW, {"smallest_target": 0.01}),
        (NONE, {"smallest_target": 5.0}),
        (MANY, {"smallest_target": -0.01}),
        (-np.ones(9), {"smallest_target": -1e6}),
        (MANY, {"smallest_target": None}),
        (MANY, {"smallest_target": float("nan")}),
        (MANY, {}),
        (np.zeros(9), {"smallest_target": 0.0}),
    ],
)
def test_possible_intervals(lower: np.ndarray, run: dict[str, Any]) -> None:
    assert below_zero_note(lower, run, 0.9, "the rows") == []


def test_the_points_of_a_run(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    splits = read_splits(folder)
    run = {"smallest_target": 1.0}
    assert impossible_intervals(run, splits, folder) == [], "it saved no predictions"
    add_arrays(folder)
    assert len(impossible_intervals(run, splits, folder)) == 1
    assert impossible_intervals({"smallest_target": -1.0}, splits, folder) == []
    folder.arrays("predictions").write_bytes(b"damaged")
    assert impossible_intervals(run, splits, folder) == []
