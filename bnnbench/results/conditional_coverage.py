"""Coverage of intervals where the epistemic uncertainty is small and where it is large."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from bnnbench.results.calibration import isotonic, pit_values, total_deviation
from bnnbench.results.split_predictions import SplitPredictions

LEVEL = 0.9
"""Level of the intervals."""

THIRDS = ("low", "middle", "high")

RAW, ISOTONIC = "raw", "isotonic"

WIDTHS: Mapping[str, Callable[[pd.DataFrame], np.ndarray]] = {
    "constant": lambda points: np.ones(len(points)),
    "total": total_deviation,
    "epistemic": lambda points: np.sqrt(points["epistemic_variance"].to_numpy()),
}
"""What the width of a conformal interval is proportional to, by name of the interval."""


def conformal_radius(scores: np.ndarray, level: float = LEVEL) -> float:
    """Return the `ceil((n + 1) level)`-th smallest score, infinite beyond the n-th."""
    rank = math.ceil((len(scores) + 1) * level - 1e-9)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


def interval_ends(predictions: SplitPredictions) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name and both ends, relative to the predictive means, of every kind of interval."""
    points, held_out = predictions.points, predictions.held_out
    levels, deviation = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2]), total_deviation(points)
    yield RAW, *np.outer(ndtri(levels), deviation)
    if held_out.empty:
        return
    yield ISOTONIC, *np.outer(ndtri(isotonic(pit_values(held_out)).inverse(levels)), deviation)
    residuals = (held_out["target"] - held_out["mean"]).abs().to_numpy()
    for name, widths in WIDTHS.items():
        if (widths(held_out) > 0).all():
            radius = conformal_radius(residuals / widths(held_out)) * widths(points)
            yield name, -radius, radius


def split_coverage(predictions: SplitPredictions) -> list[dict[str, Any]]:
    """Return a row per kind of interval.

    Columns: `split`, `interval`; `low`, `middle` and `high`, the coverage by thirds of the
    epistemic deviation, missing if a third has no points because deviations are equal; `trend`,
    high - low; the `coverage`, mean `width` and interval `score` of all points; and the statistic
    `u` and its variance `v` of the score test.
    """
    points = predictions.points
    error = (points["target"] - points["mean"]).to_numpy()
    rank = (points["epistemic_variance"].rank().to_numpy() - 0.5) / len(points)
    thirds = [(3 * rank).astype(int) == k for k in range(3)]
    rows = []
    for name, low, high in interval_ends(predictions):
        outside = np.maximum(low - error, 0) + np.maximum(error - high, 0)
        inside = outside == 0
        parts = [inside[third].mean() if third.any() else math.nan for third in thirds]
        rows.append({
            "split": predictions.split, "interval": name, **dict(zip(THIRDS, parts, strict=True)),
            "trend": parts[2] - parts[0], "coverage": inside.mean(), "width": (high - low).mean(),
            "score": (high - low + 2 / (1 - LEVEL) * outside).mean(),
            "u": ((rank - 0.5) * inside).sum(), "v": inside.var() * ((rank - 0.5) ** 2).sum(),
        })  # fmt: skip
    return rows
