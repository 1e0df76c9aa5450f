"""The region of the training data on lines and squares, where its limits are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bnnbench.prediction.training_region import MAX_ROWS, TrainingRegion, describe_outside
from bnnbench.preprocessing import Scaler


def reasons(
    training: np.ndarray, rows: list[list[float]], time: tuple[int, ...] = ()
) -> list[list[bool]]:
    scaler = Scaler.of([training], [training[:, 0]], torch.device("cpu"), torch.float32)
    is_time = np.isin(np.arange(training.shape[1]), time)
    found = TrainingRegion.of(training, is_time, seed=0).reasons(scaler, np.array(rows))
    return [list(map(bool, row)) for row in found]


def test_rows_in_a_gap_are_far_and_rows_beyond_an_end_are_out_of_range() -> None:
    """Rows are 1 apart, so the limit is 1 for every scale of the feature."""
    line = np.concatenate([np.arange(50.0), np.arange(100.0, 150.0)])[:, None]
    new = [[20.4], [49.9], [50.1], [75.0], [-0.5], [151.0], [np.nan]]
    expected = [[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 1]]
    assert reasons(1e3 * line, [[1e3 * x for x in row] for row in new])[:6] == expected
    assert reasons(line, new)[6][0] is False  # the mean of the training rows


def test_a_corner_within_all_ranges_is_far() -> None:
    side = np.arange(40.0)
    diagonal = np.column_stack([side, side])
    assert reasons(diagonal, [[20, 20], [0, 39]]) == [[0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ((), [[1, 0, 1], [1, 1, 1], [0, 0, 1]]),
        ((0,), [[0, 0, 0], [0, 1, 1], [0, 0, 0]]),
        ((0, 1), [[0, 0, 0]] * 3),
    ],
)
def test_times_are_not_part_of_the_region(time: tuple[int, ...], expected: list[list[int]]) -> None:
    side = np.arange(40.0)
    rows = [[90.0, 20], [90, 50], [0, 39]]
    assert reasons(np.column_stack([side, side]), rows, time) == expected


def test_ranges_are_those_of_all_rows() -> None:
    training = np.random.default_rng(0).normal(size=(MAX_ROWS + 500, 2))
    region = TrainingRegion.of(training, np.zeros(training.shape[1], bool), seed=0)
    assert region.rows.shape == (MAX_ROWS, 2)
    assert region.low.tolist() == training.min(0).tolist()
    found = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 0]], bool)
    known = np.zeros(3, bool)
    (sentence,) = describe_outside(found, known, ["a", "b"], "new.csv")
    assert "2 of 3 rows" in sentence and "1 far" in sentence and "of b" not in sentence
    assert not describe_outside(found[2:], known[2:], ["a", "b"], "new.csv")
    (sentence,) = describe_outside(found, ~known, ["a", "b"], "new.csv")
    assert "3 of 3 rows" in sentence and "3 with an unknown category" in sentence
