"""Rows held out for conformal intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bnnbench.prediction.held_out import HELD_OUT_NOTES, hold_out
from bnnbench.types import Split, Table

ROWS = np.arange(200)
TABLE = Table(
    "table", ROWS[:, None] / 1.0, ROWS / 1.0, (Split(0, ROWS[:160], ROWS[160:]),), ("x",), "y"
)


def test_rows_are_random_and_the_end_of_time_is_not() -> None:
    held_out = hold_out(TABLE, False, seed=0)
    assert len(held_out.rows) == 40 and held_out.rows.tolist() != ROWS[160:].tolist()
    assert held_out.kind == "rows" and held_out.groups.tolist() == held_out.rows.tolist()
    held_out = hold_out(TABLE, True, seed=0)
    assert held_out.kind == "time" and held_out.rows.tolist() == ROWS[160:].tolist()
    assert set(HELD_OUT_NOTES) == {"rows", "groups", "time"}


@pytest.mark.parametrize(("groups", "count"), [(10, 5), (25, 12), (50, 19), (100, 20)])
def test_groups_are_held_out_whole(groups: int, count: int) -> None:
    held_out = hold_out(replace(TABLE, groups=ROWS % groups), False, seed=0)
    assert held_out.kind == "groups" and len(np.unique(held_out.groups)) == count
    assert len(held_out.rows) == count * 200 // groups
