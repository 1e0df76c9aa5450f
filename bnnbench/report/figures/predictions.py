"""Predicted against observed targets."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    PlotOptions,
    label_axes,
    legend,
    new_figure,
    set_equal_axes,
)
from bnnbench.results.calibration import coverage, total_deviation

MAX_DOTS = 2500
"""Test points drawn individually. With more their density is drawn."""

MAX_ERROR_BARS = 48
"""Points with error bars. With more they would overlap."""

LEVELS = np.array((0.5, 0.95))
"""Credible levels whose coverage is printed."""

PALE = "#8FC1E3"


def predictions_figure(points: pd.DataFrame, target: str, name: str = "") -> Figure:
    """Draw predicted against observed targets, some with error bars of ± 1 standard deviation.

    Args:
        points: columns `target`, `mean`, `epistemic_variance` and `noise_variance`, original
            units; rows with values that are not finite (diverged splits) are excluded.
        target: the target's name and unit.
        name: the name of the run.
    """
    points = points[np.isfinite(points).all(axis=1)]
    dense = len(points) > MAX_DOTS
    figure, (axes,) = new_figure(6, 6.0 if dense else 6.7)
    low, high = limits(points)
    axes.set(xlim=(low, high), ylim=(low, high))
    set_equal_axes(axes)
    (_density if dense else _dots)(axes, points)
    barred = evenly_by_target(points, MAX_ERROR_BARS)
    bars: PlotOptions = {"fmt": "none", "rasterized": True, "zorder": 3}
    pale: PlotOptions = {"ecolor": PALE, "elinewidth": 1.2, "label": "± total standard deviation"}
    dark: PlotOptions = {
        "ecolor": BLUE,
        "elinewidth": 2.4,
        "label": "± epistemic standard deviation",
    }
    x, y = barred["target"], barred["mean"]
    axes.errorbar(x, y, total_deviation(barred), **bars, **pale)
    axes.errorbar(x, y, np.sqrt(barred["epistemic_variance"]), **bars, **dark)
    if dense:  # grey dots would be invisible on the grey density
        axes.plot(x, y, "o", color="black", markersize=2.5, zorder=4, label="predictive mean")
    axes.axline((0, 0), slope=1, color=ORANGE, linewidth=1, zorder=2, label="perfect prediction")
    label_axes(axes, f"observed {target}", f"predicted {target}")
    legend(figure, axes, columns=2, title=f"{name}\n{summary_text(points, len(barred))}".strip())
    return figure


def limits(points: pd.DataFrame) -> tuple[float, float]:
    """Limits of both axes: all targets and all but extreme predictions."""
    if points.empty:
        return 0.0, 1.0
    low, high = points["target"].min(), points["target"].max()
    room = (high - low) or 1.0
    mean = points["mean"].clip(low - 0.5 * room, high + 0.5 * room)
    low, high = min(low, mean.min()), max(high, mean.max())
    margin = 0.04 * (high - low)
    return float(low - margin), float(high + margin)


def evenly_by_target(points: pd.DataFrame, count: int) -> pd.DataFrame:
    """Select points evenly by the rank of their target, independently of the predictions.

    At most one point per target value, so that error bars do not overlap.
    """
    order = points.sort_values("target", kind="stable")
    places = np.linspace(0, len(order) - 1, min(count, len(order))).astype(int)
    return order.iloc[places].drop_duplicates("target")


def summary_text(points: pd.DataFrame, barred: int) -> str:
    """The number of points, of points beyond the limits, and the coverage of intervals."""
    if points.empty:
        return "no test points"
    low, high = limits(points)
    outside = int((~points["mean"].between(low, high)).sum())
    beyond = f" ({outside} outside the panel)" if outside else ""
    shares = coverage(points, LEVELS)
    covered = ", ".join(
        f"{100 * level:.0f} % intervals cover {100 * share:.0f} %"
        for level, share in zip(LEVELS, shares, strict=True)
    )
    return f"{len(points)} test points{beyond}, error bars on {barred}\n{covered}"


def _dots(axes: Axes, points: pd.DataFrame) -> None:
    """Draw a dot per point; more points are drawn smaller and fainter."""
    crowd = min(1.0, len(points) / MAX_DOTS)
    # Rasterised, because PDF viewers are slow with thousands of markers.
    style: PlotOptions = {"color": GREY, "linewidths": 0, "rasterized": True, "zorder": 3.5}
    size, opacity = 16 - 11 * crowd**0.5, 0.75 - 0.35 * crowd
    axes.scatter(
        points["target"], points["mean"], s=size, alpha=opacity, label="predictive mean", **style
    )


def _density(axes: Axes, points: pd.DataFrame) -> None:
    """Draw the number of points per cell; single points stay visible."""
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    # Cells narrower than the steps of rounded targets would produce an artificial pattern.
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
        cells, ax=axes, label="test points per cell", shrink=0.7, pad=0.02, panchor=False
    )
