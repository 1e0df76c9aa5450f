"""Progress and trials of a hyper-parameter search."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    PlotOptions,
    label_axes,
    legend,
    new_figure,
)


def best_so_far(search: pd.DataFrame) -> pd.DataFrame:
    """The best objective after each evaluation: one row per evaluation, one column per split."""
    order = search.sort_values(["split", "iteration"])
    number = order.groupby("split").cumcount() + 1
    # A diverged evaluation has no objective, so it is never the best.
    objective = order["objective"].where(np.isfinite(order["objective"]), -np.inf)
    best = objective.groupby(order["split"]).cummax().replace(-np.inf, np.nan)
    return order.assign(number=number, best=best).pivot(
        index="number", columns="split", values="best"
    )


def search_figure(search: pd.DataFrame, initial: int, name: str = "") -> Figure:
    """Draw the progress of a hyper-parameter search and the values tried.

    The first panel shows the best objective (mean validation log-likelihood) after each evaluation:
    every split, the median and the quartiles over splits, with the random phase shaded. Further
    panels show the values tried for each pair of hyper-parameters, or the objective against a
    single one, with circles around the chosen values. `initial` is the number of random evaluations
    at the start.
    """
    finite = search[np.isfinite(search["objective"])]
    varied = [str(c) for c in finite if str(c).startswith("hp.") and finite[c].nunique() > 1]
    pairs = list(combinations(varied, 2)) or [(column, "objective") for column in varied]
    columns, rows = min(2, 1 + len(pairs)), 1 + len(pairs) // 2
    figure, panels = new_figure(1.8 + 4.4 * columns, 0.7 + 3.7 * rows, columns, rows)
    _progress_panel(panels[0], best_so_far(search), initial)
    cloud = None
    for axes, (x, y) in zip(panels[1:], pairs, strict=False):
        cloud = _trials_panel(axes, finite, x, y)
    if cloud is not None:  # the same colours in all panels
        label = "nats below the best of the split"
        bar: PlotOptions = {"pad": 0.02, "aspect": 20 * rows}
        figure.colorbar(cloud, ax=panels[1::2], extend="max", label=label, **bar)
    for axes in panels[1 + len(pairs) :]:
        axes.set_visible(False)
    legend(figure, panels[:2], columns=5, title=name)
    return figure


def _progress_panel(axes: Axes, best: pd.DataFrame, initial: int) -> None:
    """Draw the best objective so far after each evaluation."""
    low, middle, high = (best.quantile(q, axis=1) for q in (0.25, 0.5, 0.75))
    axes.axvspan(0.5, initial + 0.5, color="#EEEEEE", zorder=0, label="random phase")
    for number, split in enumerate(best):
        label = "" if number else "one split"
        axes.plot(best.index, best[split], color=GREY, linewidth=0.5, alpha=0.6, label=label)
    axes.fill_between(best.index, low, high, color=BLUE, alpha=0.25, label="quartiles over splits")
    axes.plot(best.index, middle, color=BLUE, linewidth=2, label="median over splits")
    # Limits ignore the random phase, whose first points may be very bad.
    learned = low[low.index >= initial]
    if learned.notna().any():
        floor, top = learned.min(), best.max(axis=None)
        floor = min(floor, best.iloc[-1].min())
        margin = 0.06 * (top - floor) or 0.1
        axes.set_ylim(floor - margin, top + margin)
    axes.set_xlim(0.5, len(best) + 0.5)
    label_axes(axes, "evaluation", "best validation log-likelihood [nats]")


def _trials_panel(axes: Axes, search: pd.DataFrame, x: str, y: str) -> PathCollection:
    """Draw every evaluation by two of its values, darker for lower objectives."""
    best = search.groupby("split")["objective"].transform("max")
    # Draw the best last, on top.
    shown = search.assign(below=best - search["objective"]).sort_values("below", ascending=False)
    style: PlotOptions = {"cmap": "viridis_r", "vmin": 0, "s": 14, "linewidths": 0}
    worst = shown["below"].quantile(0.75) or 1.0
    cloud = axes.scatter(shown[x], shown[y], c=shown["below"], vmax=worst, **style)
    chosen = search.loc[search.groupby("split")["objective"].idxmax()]
    ring: PlotOptions = {"facecolors": "none", "edgecolors": ORANGE, "linewidths": 1.6, "s": 70}
    axes.scatter(chosen[x], chosen[y], label="chosen in one split", **ring)
    axes.set_xscale("log")
    if y == "objective":
        low = search[y].quantile(0.1)
        axes.set_ylim(low, search[y].max() + 0.06 * (search[y].max() - low))
    else:
        axes.set_yscale("log")
    label_axes(axes, _axis_label(x), _axis_label(y))
    return cloud


def _axis_label(column: str) -> str:
    """The label of an axis that shows a column such as `hp.noise_precision`."""
    if column == "objective":
        return "validation log-likelihood [nats]"
    words = column.removeprefix("hp.").replace("_", " ")
    return f"{words} (standardised units)" if "precision" in words else words
