"""Coverage of intervals where the epistemic uncertainty is small and where it is large."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bnnbench.results.conformal import LEVEL, interval_ends
from bnnbench.results.split_predictions import SplitPredictions

THIRDS = ("low", "middle", "high")


def split_coverage(predictions: SplitPredictions) -> list[dict[str, Any]]:
    """Return a row per kind of interval.

    Columns: `split`, `interval`; `low`, `middle` and `high`, the coverage by thirds of the
    epistemic deviation, missing if a third has no points because deviations are equal; `trend`,
    high - low; the `coverage`, mean `width` and interval `score` of all points; the statistic `u`
    and its variance `v` of the score test; and the numbers of `points` and of `calibration` points.
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
            "points": len(points), "calibration": len(predictions.held_out),
            "u": ((rank - 0.5) * inside).sum(), "v": inside.var() * ((rank - 0.5) ** 2).sum(),
        })  # fmt: skip
    return rows
