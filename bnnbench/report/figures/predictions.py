"""Predicted against observed targets."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import BLUE, GREY, ORANGE, Look, legend, sketch

MOST_POINTS, MOST_BARS = 5000, 150
"""Test points and error bars drawn in one scatter; more only blacken the page."""


def predictions_figure(points: pd.DataFrame, target: str) -> Figure:
    """Predicted against observed targets, with one standard deviation on each side.

    Args:
        points: columns `target`, `mean`, `epistemic_variance` and `noise_variance`, original
            units; rows that are not finite (diverged splits) are left out.
        target: the target's name and unit.
    """
    points = points[np.isfinite(points).all(axis=1)]
    drawn = points.sample(min(len(points), MOST_POINTS), random_state=0)
    barred = drawn.iloc[:MOST_BARS]
    epistemic = np.sqrt(barred["epistemic_variance"])
    total = np.sqrt(barred["epistemic_variance"] + barred["noise_variance"])
    figure, (axes,) = sketch(6, 6.3)
    # Rasterised: no viewer scrolls smoothly over a PDF of thousands of marks.
    dots: Look = {"color": GREY, "s": 5, "alpha": 0.5, "linewidths": 0, "rasterized": True}
    axes.scatter(drawn["target"], drawn["mean"], label="predictive mean", **dots)
    bars: Look = {"fmt": "none", "rasterized": True}
    light: Look = {"ecolor": "#8FC1E3", "elinewidth": 0.8, "label": "± total standard deviation"}
    dark: Look = {"ecolor": BLUE, "elinewidth": 1.6, "label": "± epistemic standard deviation"}
    axes.errorbar(barred["target"], barred["mean"], total, **bars, **light)
    axes.errorbar(barred["target"], barred["mean"], epistemic, **bars, **dark)
    axes.axline((0, 0), slope=1, color=ORANGE, linewidth=1, zorder=4, label="perfect prediction")
    if len(drawn):
        low, high = (f(drawn[["target", "mean"]].to_numpy()) for f in (np.min, np.max))
        margin = 0.06 * (high - low) or 1.0
        axes.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin))
    axes.set_aspect("equal")
    # A user's "$" is a currency, not the start of a formula.
    axes.set_xlabel(f"observed {target}", parse_math=False)
    axes.set_ylabel(f"predicted {target}", parse_math=False)
    title = f"{len(drawn)} of {len(points)} test points, error bars on {len(barred)}"
    axes.set_title(title, fontsize="medium")
    legend(figure, axes, columns=2)
    return figure
