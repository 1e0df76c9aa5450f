"""How often credible intervals hold the target (book, Fig. 4.2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    Look,
    label_axes,
    legend,
    sketch,
    square,
)
from bnnbench.results.calibration import RECALIBRATED, coverage, learn, mended_groups


def reliability_figure(
    points: pd.DataFrame, held_out: pd.DataFrame | None = None, name: str = ""
) -> Figure:
    """Reliability: how often credible intervals hold the target, over their nominal levels.

    The predictive density is taken as a Gaussian with the total variance (epistemic + noise).
    Where out-of-fold predictions are there, the curves after recalibration stand beside it, as
    in the book's Fig. 4.2.

    Args:
        points: as for `predictions_figure`, and `split`.
        held_out: the same of the training part, out of fold.
        name: of the run.
    """
    points = points[np.isfinite(points).all(axis=1)]
    levels = np.linspace(0.01, 0.99, 99)
    figure, (axes,) = sketch(5.8, 6.5)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="calibrated")
    if len(points):
        curves = np.array([coverage(group, levels) for _, group in points.groupby("split")])
        low, high = np.quantile(curves, (0.25, 0.75), axis=0)
        axes.fill_between(levels, low, high, color=BLUE, alpha=0.2, label="quartiles over splits")
        axes.plot(levels, coverage(points, levels), color=BLUE, linewidth=2, label="as predicted")
    for mending, colour in zip(RECALIBRATED, (PALETTE[2], ORANGE), strict=True):
        learned = {} if held_out is None else learn(held_out, mending)
        groups = [(len(g), coverage(g, levels, m)) for g, m in mended_groups(points, learned)]
        if groups:
            counts, curves = (np.array(part) for part in zip(*groups, strict=True))
            pooled = np.average(curves, axis=0, weights=counts)
            axes.plot(levels, pooled, color=colour, linewidth=1.5, label=RECALIBRATED[mending])
    axes.set(xlim=(0, 1), ylim=(0, 1))
    x = "nominal level of the credible interval (Gaussian, total variance)"
    label_axes(axes, x, "share of test targets inside")
    square(axes)
    note: Look = {"transform": axes.transAxes, "color": GREY, "fontsize": "small"}
    axes.text(0.03, 0.95, "too cautious: intervals too wide", **note)
    axes.text(0.97, 0.04, "too sure: intervals too narrow", ha="right", **note)
    legend(figure, axes, columns=2, title=name)
    return figure
