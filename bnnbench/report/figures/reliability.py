"""Reliability diagrams: coverage of credible intervals (book, Fig. 4.2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    PlotOptions,
    label_axes,
    legend,
    new_figure,
    set_equal_axes,
)
from bnnbench.results.calibration import RECALIBRATION_NAMES, coverage, recalibrated_splits


def reliability_figure(
    points: pd.DataFrame, held_out: pd.DataFrame | None = None, name: str = ""
) -> Figure:
    """Draw the coverage of credible intervals against their nominal level.

    The predictive density is approximated by a Gaussian with the total variance (epistemic +
    noise). With out-of-fold predictions, curves after recalibration are added, as in the book's
    Fig. 4.2.

    Args:
        points: as for `predictions_figure`, with an additional column `split`.
        held_out: out-of-fold predictions on the training set, in the same form.
        name: the name of the run.
    """
    points = points[np.isfinite(points).all(axis=1)]
    levels = np.linspace(0.01, 0.99, 99)
    figure, (axes,) = new_figure(5.8, 6.5)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="calibrated")
    if len(points):
        curves = np.array([coverage(group, levels) for _, group in points.groupby("split")])
        low, high = np.quantile(curves, (0.25, 0.75), axis=0)
        axes.fill_between(levels, low, high, color=BLUE, alpha=0.2, label="quartiles over splits")
        axes.plot(levels, coverage(points, levels), color=BLUE, linewidth=2, label="as predicted")
    for mending, colour in zip(RECALIBRATION_NAMES, (PALETTE[2], ORANGE), strict=True):
        splits = recalibrated_splits(points, held_out, mending)
        groups = [(len(group), coverage(group, levels, m)) for group, m in splits]
        if groups:
            counts, curves = (np.array(part) for part in zip(*groups, strict=True))
            pooled = np.average(curves, axis=0, weights=counts)
            axes.plot(
                levels, pooled, color=colour, linewidth=1.5, label=RECALIBRATION_NAMES[mending]
            )
    axes.set(xlim=(0, 1), ylim=(0, 1))
    x = "nominal level of the credible interval (Gaussian, total variance)"
    label_axes(axes, x, "fraction of test targets inside")
    set_equal_axes(axes)
    note: PlotOptions = {"transform": axes.transAxes, "color": GREY, "fontsize": "small"}
    axes.text(0.03, 0.95, "underconfident: intervals too wide", **note)
    axes.text(0.97, 0.04, "overconfident: intervals too narrow", ha="right", **note)
    legend(figure, axes, columns=2, title=name)
    return figure
