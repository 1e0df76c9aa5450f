"""Notes on a run: intervals too narrow, too wide or with impossible values; unconverged chains."""

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

MIN_COVERAGE, MAX_COVERAGE = 0.8, 0.98
"""Coverage of 90 % intervals beyond which a run gets a note."""


def coverage_note(covered: float, settings: Mapping[str, Any]) -> str:
    """Say that 90 % intervals are far too narrow or too wide, and why; empty if they are not.

    Args:
        covered: fraction of the test targets that they contain.
        settings: of the run, by dotted name.
    """
    if not (covered < MIN_COVERAGE or covered > MAX_COVERAGE):  # also NaN
        return ""
    found = f"The 90 % intervals contain {covered:.0%} of the test targets: they are too"
    if covered > MAX_COVERAGE:
        return f"{found} wide. `bnnbench predict --calibrate` makes them narrower."
    if settings.get("dataset.time"):
        return (
            f"{found} narrow. The test rows are later than the training rows, which may not show "
            "a trend or a change; with dataset.time_input=false, no trend can be learned."
        )
    if settings.get("dataset.group"):
        return f"{found} narrow. New groups may differ more than the rows of known groups."
    return f"{found} narrow. `bnnbench predict --calibrate` makes them wider."


def run_coverage_note(calibration: pd.DataFrame | None, settings: Mapping[str, Any]) -> str:
    """Return `coverage_note` of a run, from its calibration table; empty without one."""
    if calibration is None:
        return ""
    as_predicted = calibration["recalibration"] == "none"
    return coverage_note(calibration.loc[as_predicted, "coverage_90"].mean(), settings)


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


R_HAT, ESS = "diag.r_hat", ["diag.bulk_ess", "diag.tail_ess"]
"""Columns of `splits.csv`: the 99th percentile of R-hat over the test points, and the 1st
percentiles of the effective sample sizes."""

DIVERGENCE_RATE = "diag.divergence_rate"
"""Column of `splits.csv`: divergent transitions of the chains, as a fraction of all kept ones."""

STEP_SIZE = "diag.step_size"
"""Column of `splits.csv` that every method with several chains has."""

MAX_R_HAT, MIN_ESS, MAX_DIVERGENCE_RATE = 1.01, 400, 0.001
"""Limits for converged chains; the first two are those of Vehtari et al. (2021)."""

CONVERGENCE = (
    f"R-hat of at most {MAX_R_HAT} and bulk and tail ESS of at least {MIN_ESS} at 99 % of the test "
    f"points, and at most {MAX_DIVERGENCE_RATE:.1%} divergent transitions"
)
"""The limits in words."""


def unconverged_splits(splits: pd.DataFrame) -> list[int]:
    """Return the splits with too many divergences, or a limit that 1 % of the test points miss.

    A split of chains without an R-hat counts as well: they have too few draws, or never moved.
    """
    if R_HAT not in splits or splits.reindex(columns=[R_HAT, STEP_SIZE]).isna().all(axis=None):
        return []  # a method without chains; a table of several runs has the columns of all methods
    converged = (splits[R_HAT] <= MAX_R_HAT) & (splits.reindex(columns=ESS) >= MIN_ESS).all(axis=1)
    if DIVERGENCE_RATE in splits:
        converged &= splits[DIVERGENCE_RATE] <= MAX_DIVERGENCE_RATE
    return [int(split) for split in splits.loc[~converged, "split"]]
