"""Predicted against observed targets."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import (
    BLUE,
    GREY,
    ORANGE,
    Look,
    label_axes,
    legend,
    sketch,
    square,
)
from bnnbench.results.calibration import coverage, total_deviation

MOST_DOTS = 2500
"""Test points drawn one by one; of more their density is shown."""

BARS = 48
"""Points with error bars; of more, none could be told from the next."""

LEVELS = np.array((0.5, 0.95))
"""Of credible intervals whose coverage is said."""

PALE = "#8FC1E3"


def predictions_figure(points: pd.DataFrame, target: str, name: str = "") -> Figure:
    """Predicted against observed targets, with one standard deviation on each side of some.

    Args:
        points: columns `target`, `mean`, `epistemic_variance` and `noise_variance`, original
            units; rows that are not finite (diverged splits) are left out.
        target: the target's name and unit.
        name: of the run.
    """
    points = points[np.isfinite(points).all(axis=1)]
    dense = len(points) > MOST_DOTS
    figure, (axes,) = sketch(6, 6.0 if dense else 6.7)
    low, high = limits(points)
    axes.set(xlim=(low, high), ylim=(low, high))
    square(axes)
    (_density if dense else _dots)(axes, points)
    barred = spread_out(points, BARS)
    bars: Look = {"fmt": "none", "rasterized": True, "zorder": 3}
    pale: Look = {"ecolor": PALE, "elinewidth": 1.2, "label": "± total standard deviation"}
    dark: Look = {"ecolor": BLUE, "elinewidth": 2.4, "label": "± epistemic standard deviation"}
    x, y = barred["target"], barred["mean"]
    axes.errorbar(x, y, total_deviation(barred), **bars, **pale)
    axes.errorbar(x, y, np.sqrt(barred["epistemic_variance"]), **bars, **dark)
    if dense:  # grey dots would be lost on the grey
        axes.plot(x, y, "o", color="black", markersize=2.5, zorder=4, label="predictive mean")
    axes.axline((0, 0), slope=1, color=ORANGE, linewidth=1, zorder=2, label="perfect prediction")
    label_axes(axes, f"observed {target}", f"predicted {target}")
    legend(figure, axes, columns=2, title=f"{name}\n{sentence(points, len(barred))}".strip())
    return figure


def limits(points: pd.DataFrame) -> tuple[float, float]:
    """Of both axes: every target, and predictions but for those that would flatten all the rest."""
    if points.empty:
        return 0.0, 1.0
    low, high = points["target"].min(), points["target"].max()
    room = (high - low) or 1.0
    mean = points["mean"].clip(low - 0.5 * room, high + 0.5 * room)
    low, high = min(low, mean.min()), max(high, mean.max())
    margin = 0.04 * (high - low)
    return float(low - margin), float(high + margin)


def spread_out(points: pd.DataFrame, count: int) -> pd.DataFrame:
    """Some points, chosen by their rank among the targets alone: whatever was predicted of them.

    One for each target at most, where bars would stand on each other.
    """
    order = points.sort_values("target", kind="stable")
    places = np.linspace(0, len(order) - 1, min(count, len(order))).astype(int)
    return order.iloc[places].drop_duplicates("target")


def sentence(points: pd.DataFrame, barred: int) -> str:
    """How many points there are, how many of them stand outside, and what their intervals hold."""
    if points.empty:
        return "no test points"
    low, high = limits(points)
    outside = int((~points["mean"].between(low, high)).sum())
    beyond = f" ({outside} beyond the panel)" if outside else ""
    shares = coverage(points, LEVELS)
    held = ", ".join(
        f"{100 * level:.0f} % intervals hold {100 * share:.0f} %"
        for level, share in zip(LEVELS, shares, strict=True)
    )
    return f"{len(points)} test points{beyond}, error bars on {barred}\n{held}"


def _dots(axes: Axes, points: pd.DataFrame) -> None:
    """A dot per point, the smaller and the fainter the more there are."""
    crowd = min(1.0, len(points) / MOST_DOTS)
    # Rasterised: no viewer scrolls smoothly over a PDF of thousands of marks.
    look: Look = {"color": GREY, "linewidths": 0, "rasterized": True, "zorder": 3.5}
    size, opacity = 16 - 11 * crowd**0.5, 0.75 - 0.35 * crowd
    axes.scatter(
        points["target"], points["mean"], s=size, alpha=opacity, label="predictive mean", **look
    )


def _density(axes: Axes, points: pd.DataFrame) -> None:
    """All points by how many lie together; a lone one is still seen."""
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    # Cells narrower than the steps of rounded targets would leave a pattern of their own.
    cells = axes.hexbin(
        points["target"],
        points["mean"],
        gridsize=min(60, max(20, points["target"].nunique() // 2)),
        extent=(low, high, bottom, top),
        mincnt=1,
        bins="log",
        cmap=ListedColormap(colormaps["Greys"](np.linspace(0.25, 0.9, 256))),
        linewidths=0,
        rasterized=True,
    )
    counts = cells.get_array()
    most = 2.0 if counts is None or not len(counts) else max(2.0, float(counts.max()))
    cells.set_clim(1, most)
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.colorbar(
        cells, ax=axes, label="test points in a cell", shrink=0.7, pad=0.02, panchor=False
    )
