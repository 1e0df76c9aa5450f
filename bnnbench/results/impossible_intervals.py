"""Notes on intervals that contain values which the target cannot have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.predicted_points import ends_from_mean
from bnnbench.results.run_files import read_test_points
from bnnbench.types import UserError

LEVEL = 0.9
"""Of the intervals of test points."""

MAX_BELOW_ZERO = 0.05
"""Fraction of intervals that may reach below 0 without a note, although no target does."""


def impossible_intervals(
    run: Mapping[str, Any], splits: pd.DataFrame, folder: RunFolder
) -> list[str]:
    """Return the note on the intervals of the test points of a run, if there is one.

    Args:
        run: its metadata.
        splits: its splits.
        folder: of its files; nothing is said about a damaged file.
    """
    try:
        points = read_test_points(folder, splits) if _is_never_negative(run) else None
    except UserError:
        return []
    if points is None:
        return []
    lower = points["mean"] + ends_from_mean(points, float(ndtri((1 - LEVEL) / 2)))
    found = below_zero_note(lower.to_numpy(), run, LEVEL, "the test rows")
    return [f"{note[0].upper()}{note[1:]}." for note in found]


def below_zero_note(
    lower: np.ndarray, run: Mapping[str, Any], level: float, rows: str
) -> list[str]:
    """Say that intervals reach below 0, although no target of the user's own table does.

    Args:
        lower: lower ends of the intervals, `[M]`.
        run: its metadata.
        level: of the intervals.
        rows: which rows these are, for the message.

    Returns:
        A sentence without a full stop; none if at most `MAX_BELOW_ZERO` of the intervals do.
    """
    if not (_is_never_negative(run) and (lower < 0).mean() > MAX_BELOW_ZERO):
        return []
    bound = (
        "with dataset.log_target=true, all predictions are positive"
        if run["smallest_target"] > 0
        else "the predicted distribution does not know this bound"
    )
    return [
        f"the {100 * level:.3g} % intervals of {(lower < 0).mean():.0%} of {rows} reach below 0, "
        f"but no target of the table does: {bound}"
    ]


def _is_never_negative(run: Mapping[str, Any]) -> bool:
    smallest = run.get("smallest_target")  # missing for data sets that are not the user's
    return isinstance(smallest, int | float) and smallest >= 0
