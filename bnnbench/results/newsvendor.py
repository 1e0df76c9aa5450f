"""The cost of decisions: how much to stock before the demand is known (the newsvendor problem).

A unit that is missing costs q, a unit that is left over 1 - q. The expected cost of a stock is
least at the quantile q of the demand (Arrow, Harris & Marschak 1951), and the cost of a stock is
its pinball loss; its average over q is half the CRPS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from bnnbench.results.predictive_distances import NORMAL_SCORES, quantiles
from bnnbench.results.split_predictions import SplitPredictions

LEVELS = np.array([0.5, 0.8, 0.9, 0.95])
"""Costs q of a missing unit; a unit left over costs 1 - q."""


def pinball(targets: np.ndarray, stock: np.ndarray, level: np.ndarray | float) -> np.ndarray:
    """Return the cost of each stock: `level` per missing unit, `1 - level` per unit left over."""
    missing = targets - stock
    return np.maximum(level * missing, (level - 1) * missing)


def split_costs(predictions: SplitPredictions) -> list[dict[str, Any]]:
    """Return a row per level with the mean `cost` of a split's points.

    Columns: `split`, `level`, `cost`, `value_of_uncertainty` and `value_of_inputs`, which are
    missing without out-of-fold predictions.
    """
    points, held_out = predictions.points, predictions.held_out
    targets, means = (points[name].to_numpy()[:, None] for name in ("target", "mean"))
    curves = quantiles(predictions.mixture)
    stock = np.array([np.interp(ndtri(LEVELS), NORMAL_SCORES, curve) for curve in curves])
    cost = pinball(targets, stock, LEVELS).mean(0)
    constant = same_margin = np.full(len(LEVELS), np.nan)
    if len(held_out):
        residuals = held_out["target"] - held_out["mean"]
        same_margin = pinball(targets, means + np.quantile(residuals, LEVELS), LEVELS).mean(0)
        constant = pinball(targets, np.quantile(held_out["target"], LEVELS), LEVELS).mean(0)
    columns = {
        "level": LEVELS,
        "cost": cost,
        "value_of_uncertainty": 1 - cost / same_margin,
        "value_of_inputs": 1 - cost / constant,
    }
    return pd.DataFrame(columns).assign(split=predictions.split).to_dict("records")
