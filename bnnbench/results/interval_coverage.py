"""How often k predicted deviations hold a target, on made data (GVI thesis, Figs. 5.10-5.12)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr

from bnnbench.results.curves import Curve, places

STEPS = np.linspace(0.1, 3, 30)
"""Half-widths of the intervals, in predicted total deviations."""

ONE_SIGMA = float(ndtr(1) - ndtr(-1))

LOW = 0.7
"""Half-width below which intervals count as small."""

NAMED = ("run", "experiment", "dataset", "method", "divergence", "depth", "label")


def gaussian(steps: np.ndarray) -> np.ndarray:
    """The share that a Gaussian holds within each number of its deviations."""
    return np.asarray(ndtr(steps) - ndtr(-steps))


def inside(curve: Curve, steps: np.ndarray = STEPS) -> np.ndarray:
    """The share of targets within each number of total deviations, in the training range."""
    within = places(curve)["in"]
    error = (curve.grid["target"] - curve.grid["mean"]).abs()
    distance = (error / curve.deviation)[within].to_numpy()
    return np.asarray((distance <= steps[:, None]).mean(axis=1))


def sigma_table(curves: Sequence[Curve]) -> pd.DataFrame:
    """One row per run.

    Columns: the names of the run, the number of `points`, the shares `inside_1` to `inside_3`, the
    `difference` of the first from a Gaussian's, and the mean `low_excess` over a Gaussian's below
    `LOW` deviations.
    """
    rows = []
    low = STEPS[STEPS < LOW - 1e-9]
    for curve in curves:
        shares = inside(curve, np.array([1.0, 2.0, 3.0]))
        rows.append({
            **{name: curve.run[name] for name in NAMED},
            "points": int(places(curve)["in"].sum()),
            **{f"inside_{k}": share for k, share in enumerate(shares, 1)},
            "difference": abs(shares[0] - ONE_SIGMA),
            "low_excess": (inside(curve, low) - gaussian(low)).mean(),
        })  # fmt: skip
    return pd.DataFrame(rows)
