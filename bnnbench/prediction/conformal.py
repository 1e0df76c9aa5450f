"""Conformal intervals of a final model: the rows held out of its fit, and the width."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bnnbench.types import Table, UserError

CALIBRATIONS = ("none", "isotonic", "conformal")
"""How the intervals of a final model can be calibrated."""

HELD_OUT_FRACTION = 0.2
"""Fraction of the rows, or of the groups, that is held out."""

MIN_GROUPS = 19
"""Groups held out, unless this is more than half of them; 9 are enough for a 90 % interval."""

HELD_OUT_NOTES = {
    "rows": "",
    "groups": "whole groups were held out, so that the intervals are for rows of new groups",
    "time": "the latest rows were held out: the intervals are valid only if errors on new rows are "
    "distributed like errors on these",
}
"""Notes on conformal intervals, by the kind of held-out rows."""


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows.

    Attributes:
        rows: their numbers, `[n]`, sorted.
        groups: the group number of each, `[n]`; without groups, every row is one.
        kind: a key of `HELD_OUT_NOTES`.
    """

    rows: np.ndarray
    groups: np.ndarray
    kind: str


def hold_out(table: Table, by_time: bool, seed: int) -> HeldOut:
    """Choose the rows to hold out.

    Groups are held out whole, because rows of a group resemble each other more than rows of
    different groups. Of a table split by time, the test part of the last split is held out.
    """
    numbers = np.arange(len(table.targets))
    if by_time:
        rows = np.sort(table.splits[-1].test)
        return HeldOut(rows, rows, "time")
    groups = numbers if table.groups is None else table.groups
    order = np.random.RandomState(seed).permutation(np.unique(groups))
    count = math.ceil(HELD_OUT_FRACTION * len(order))
    if table.groups is not None:
        count = min(max(count, MIN_GROUPS), len(order) // 2)
    rows = np.flatnonzero(np.isin(groups, order[:count]))
    return HeldOut(rows, groups[rows], "rows" if table.groups is None else "groups")


def conformal_half_width(scores: np.ndarray, groups: np.ndarray, level: float) -> float:
    """Return half the width, as a standard score, that covers a new row with `level`.

    Args:
        scores: absolute standard scores of the held-out targets, `[n]`.
        groups: their groups, `[n]`.
        level: probability of the interval.

    Raises:
        UserError: if there are too few groups for the level.
    """
    from bnnbench.results.score.conformal import conformal_radius  # slow to import

    radius = conformal_radius(scores, level, groups)
    if radius == np.inf:
        count = len(np.unique(groups))
        raise UserError(
            f"the probability of a conformal interval from {count} held-out rows or groups must "
            f"be at most {count / (count + 1):.3f}, not {level:g}; or use isotonic calibration.",
            "--interval",
            "few_rows",
        )
    return radius
