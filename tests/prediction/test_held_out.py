"""Rows held out for conformal intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnnbench.prediction.held_out import HELD_OUT_NOTES, held_out_rows
from bnnbench.prediction.intervals import conformal_half_width
from bnnbench.types import Split, Table

ROWS = np.arange(50)
TABLE = Table(
    "table", ROWS[:, None] / 1.0, ROWS / 1.0, (Split(0, ROWS[:40], ROWS[40:]),), ("x",), "y"
)


def test_held_out_rows() -> None:
    rows, kind = held_out_rows(TABLE, False, seed=0)
    assert (len(rows), kind) == (10, "rows") and rows.tolist() != ROWS[40:].tolist()
    rows, kind = held_out_rows(replace(TABLE, groups=ROWS % 10), False, seed=0)
    assert (len(rows), len(np.unique(rows % 10)), kind) == (10, 2, "groups")
    rows, kind = held_out_rows(TABLE, True, seed=0)
    assert (rows.tolist(), kind) == (ROWS[40:].tolist(), "time")
    assert set(HELD_OUT_NOTES) == {"rows", "groups", "time"}


def test_whole_groups_cover_new_groups() -> None:
    """Rows of the same group share a deviation, so that single held-out rows promise too much."""
    random, inside = np.random.default_rng(0), {"rows": [], "groups": []}
    for _ in range(200):
        deviations = np.repeat(random.standard_normal(26), 16)
        groups, noise = np.repeat(np.arange(26), 16), 0.3 * random.standard_normal(26 * 16)
        table = replace(TABLE, groups=groups[:400], targets=(deviations + noise)[:400], splits=())
        for kind in inside:
            chosen = table if kind == "groups" else replace(table, groups=None)
            rows, _ = held_out_rows(chosen, False, seed=int(random.integers(2**31)))
            rest = np.setdiff1d(np.arange(400), rows)
            known = np.bincount(groups[rest], table.targets[rest], 26) / np.maximum(
                np.bincount(groups[rest], minlength=26), 1
            )
            distances = np.abs(table.targets[rows] - known[groups[rows]])
            inside[kind].append(
                np.abs(deviations + noise)[400:] <= conformal_half_width(distances, 0.9)
            )
    assert np.mean(inside["rows"]) < 0.6
    assert np.mean(inside["groups"]) > 0.85
