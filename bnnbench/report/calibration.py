"""Whether credible intervals hold what they promise (book, section 4.2.2).

Everything is computed from `predictions.npz`, with the predictive density taken as a Gaussian of
the total variance (epistemic + noise), in original units; nothing is trained again.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pandas as pd

LEVELS = np.linspace(0.05, 0.95, 19)
"""Credible levels over which the calibration error is averaged."""

STATED = (0.5, 0.9, 0.95)
"""Levels whose coverage and mean width are reported."""

QUALITIES = (
    "calibration_error",
    *(f"coverage_{100 * level:.0f}" for level in STATED),
    *(f"width_{100 * level:.0f}" for level in STATED),
)


def half_widths(levels: np.ndarray) -> np.ndarray:
    """Half-widths of the central intervals of a standard Gaussian."""
    return np.array([NormalDist().inv_cdf((1 + level) / 2) for level in levels])


def total_deviation(points: pd.DataFrame) -> np.ndarray:
    """Predictive standard deviation of each test point."""
    return np.sqrt(points["epistemic_variance"] + points["noise_variance"]).to_numpy()


def coverage(points: pd.DataFrame, levels: np.ndarray) -> np.ndarray:
    """The share of targets inside the central credible interval of each level.

    Args:
        points: `target`, `mean`, `epistemic_variance` and `noise_variance` of each test point.
        levels: between 0 and 1.
    """
    error = (points["target"] - points["mean"]).abs().to_numpy()
    return (error <= half_widths(levels)[:, None] * total_deviation(points)).mean(axis=1)


def calibration_table(points: pd.DataFrame) -> pd.DataFrame:
    """Calibration and sharpness of each split.

    Args:
        points: as for `coverage`, and `split`.

    Returns:
        A row per split: `split`; `calibration_error`, the mean over `LEVELS` of the absolute
        difference between coverage and level (the expected calibration error of a regression);
        `coverage_<level>`; `width_<level>`, the mean width of that interval (sharpness, in the
        target's unit).
    """
    rows = []
    for split, group in points.groupby("split"):
        stated = coverage(group, np.array(STATED))
        widths = 2 * half_widths(np.array(STATED)) * total_deviation(group).mean()
        error = np.abs(coverage(group, LEVELS) - LEVELS).mean()
        rows.append([split, *(float(value) for value in (error, *stated, *widths))])
    return pd.DataFrame(rows, columns=["split", *QUALITIES])
