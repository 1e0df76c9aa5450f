"""Notes on intervals that contain impossible values of the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.read.run_files import read_test_points
from bnnbench.results.score.calibration import ends_from_mean
from bnnbench.results.score.conformal import LEVEL
from bnnbench.types import UserError

MAX_BELOW_ZERO = 0.05
"""Fraction of intervals that may reach below 0 without a note, although no target does."""


def impossible_intervals(
    run: Mapping[str, Any], splits: pd.DataFrame, folder: RunFolder
) -> list[str]:
    """Return `below_zero_note` on the test points of a run; none if they cannot be read."""
    try:
        points = read_test_points(folder, splits) if _is_bounded(run) else None
    except UserError:
        return []
    if points is None:
        return []
    lower = points["mean"] + ends_from_mean(points, ndtri((1 - LEVEL) / 2))
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
    """
    below = np.count_nonzero(lower < 0)
    if not _is_bounded(run) or below <= MAX_BELOW_ZERO * len(lower):
        return []
    bound = "the predictive distribution does not have this bound"
    if run["smallest_target"] > 0:
        bound = "with dataset.log_target=true, all predictions are positive"
    return [
        f"the {100 * level:.3g} % intervals of {below / len(lower):.0%} of {rows} reach below 0, "
        f"but no target of the table does: {bound}"
    ]


def _is_bounded(run: Mapping[str, Any]) -> bool:
    smallest = run.get("smallest_target")  # missing for data sets that are not the user's
    return smallest is not None and bool(smallest >= 0)
