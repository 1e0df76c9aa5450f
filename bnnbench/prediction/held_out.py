"""Rows held out of the fit of a final model, for conformal intervals."""

from __future__ import annotations

import math

import numpy as np

from bnnbench.types import Table

HELD_OUT_FRACTION = 0.2
"""Fraction of the rows, or of the groups, that is held out."""

HELD_OUT_NOTES = {
    "rows": "",
    "groups": "whole groups were held out: the intervals hold on average over new groups that are "
    "like those of the table, approximately if there are few groups",
    "time": "the latest rows were held out: the intervals hold as long as new rows deviate from "
    "the predictions as these did; there is no guarantee",
}
"""What conformal intervals promise, by what was held out."""


def held_out_rows(table: Table, by_time: bool, seed: int) -> tuple[np.ndarray, str]:
    """Return the numbers of the held-out rows, sorted, and a key of `HELD_OUT_NOTES`.

    Groups are held out whole, because rows of a group resemble each other more than rows of
    different groups. Of a table split by time, the test part of the last split is held out.
    """
    if by_time:
        return np.sort(table.splits[-1].test), "time"
    groups = np.arange(len(table.targets)) if table.groups is None else table.groups
    order = np.random.RandomState(seed).permutation(np.unique(groups))
    chosen = order[: math.ceil(HELD_OUT_FRACTION * len(order))]
    key = "rows" if table.groups is None else "groups"
    return np.flatnonzero(np.isin(groups, chosen)), key
