"""Conformal intervals, for rows and for rows in groups, and the rows held out for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.user_errors import assert_user_error

from bnnbench.prediction.conformal import HELD_OUT_NOTES, conformal_half_width, hold_out
from bnnbench.types import Split, Table, UserError

ROWS = np.arange(99)


def half_width(scores: np.ndarray, level: float) -> float:
    return conformal_half_width(scores, ROWS[: len(scores)], level)


def test_conformal_half_widths() -> None:
    scores = np.arange(1.0, 20)
    assert half_width(scores, 0.9) == 18
    assert half_width(scores, 0.5) == 10
    assert half_width(np.arange(1.0, 100), 0.55) == 55, "100 * 0.55 is above 55 in floats"
    with pytest.raises(UserError) as error:
        half_width(scores, 0.99)
    assert_user_error(error, "--interval", "few_rows")
    assert "0.950" in str(error.value)


def test_groups_have_equal_weights() -> None:
    """Of nine groups, the large one counts as much as the others."""
    groups = np.repeat(np.arange(9), [92, *[1] * 8])
    scores = np.where(groups == 0, 0.0, groups)
    assert conformal_half_width(scores, groups, 0.1) == 0
    assert conformal_half_width(scores, groups, 0.2) == 1
    assert conformal_half_width(scores, groups, 0.9) == 8


def test_groups_cover_rows_of_new_groups() -> None:
    """Rows of one group share a deviation; as rows of their own they promise too much."""
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(12), 8)
    inside: list[tuple[bool, bool]] = []
    for _ in range(2000):
        scores = np.abs(rng.standard_normal(13)[np.append(groups, 12)] + 0.3 * rng.normal(size=97))
        widths = (
            conformal_half_width(scores[:96], groups, 0.9),
            half_width(scores[:96], 0.9),
        )
        inside.append((bool(scores[96] <= widths[0]), bool(scores[96] <= widths[1])))
    by_group, by_row = np.mean(inside, axis=0)
    assert 0.9 - 0.02 < by_group < 0.96
    assert by_row < by_group - 0.02


NUMBERS = np.arange(200)
TABLE = Table(
    "table",
    NUMBERS[:, None] / 1.0,
    NUMBERS / 1.0,
    (Split(0, NUMBERS[:160], NUMBERS[160:]),),
    ("x",),
    "y",
)


def test_rows_are_random_and_the_end_of_time_is_not() -> None:
    held_out = hold_out(TABLE, False, seed=0)
    assert len(held_out.rows) == 40 and held_out.rows.tolist() != NUMBERS[160:].tolist()
    assert held_out.kind == "rows" and held_out.groups.tolist() == held_out.rows.tolist()
    held_out = hold_out(TABLE, True, seed=0)
    assert held_out.kind == "time" and held_out.rows.tolist() == NUMBERS[160:].tolist()
    assert set(HELD_OUT_NOTES) == {"rows", "groups", "time"}


@pytest.mark.parametrize(("groups", "count"), [(10, 5), (25, 12), (50, 19), (100, 20)])
def test_groups_are_held_out_whole(groups: int, count: int) -> None:
    held_out = hold_out(replace(TABLE, groups=NUMBERS % groups), False, seed=0)
    assert held_out.kind == "groups" and len(np.unique(held_out.groups)) == count
    assert len(held_out.rows) == count * 200 // groups
