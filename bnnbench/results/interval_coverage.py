"""Coverage of intervals of k predictive standard deviations (GVI thesis, Figs. 5.10-5.12)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr

from bnnbench.results.curves import Curve, range_masks

HALF_WIDTHS = np.linspace(0.1, 3, 30)
"""Half-widths of the intervals, in total predictive standard deviations."""

ONE_SIGMA = float(ndtr(1) - ndtr(-1))

SMALL_HALF_WIDTH = 0.7
"""Intervals of a smaller half-width count as small."""

METADATA_COLUMNS = ("run", "experiment", "dataset", "method", "divergence", "depth", "label")


def gaussian_coverage(steps: np.ndarray) -> np.ndarray:
    """Return the mass of a Gaussian within each number of standard deviations."""
    return np.asarray(ndtr(steps) - ndtr(-steps))


def coverage_of_curve(curve: Curve, steps: np.ndarray = HALF_WIDTHS) -> np.ndarray:
    """Return the fraction of targets within each number of deviations, in the training range."""
    within = range_masks(curve)["in"]
    error = (curve.grid["target"] - curve.grid["mean"]).abs()
    distance = (error / curve.deviation)[within].to_numpy()
    return np.asarray((distance <= steps[:, None]).mean(axis=1))


def sigma_table(curves: Sequence[Curve]) -> pd.DataFrame:
    """Return a row per run.

    Columns: the run's metadata, the number of `points`, the fractions `inside_1` to `inside_3`,
    the `difference` of the first from a Gaussian's, and `small_interval_excess`, the mean excess
    over a Gaussian's below `SMALL_HALF_WIDTH` deviations.
    """
    rows = []
    low = HALF_WIDTHS[HALF_WIDTHS < SMALL_HALF_WIDTH - 1e-9]
    for curve in curves:
        fractions = coverage_of_curve(curve, np.array([1.0, 2.0, 3.0]))
        excess = coverage_of_curve(curve, low) - gaussian_coverage(low)
        rows.append({
            **{name: curve.run[name] for name in METADATA_COLUMNS},
            "points": int(range_masks(curve)["in"].sum()),
            **{f"inside_{k}": fraction for k, fraction in enumerate(fractions, 1)},
            "difference": abs(fractions[0] - ONE_SIGMA),
            "small_interval_excess": excess.mean(),
        })  # fmt: skip
    return pd.DataFrame(rows)
