"""Box plots and means of scores, by name, depth and data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import (
    BLUE,
    GREY,
    ORANGE,
    SMALL,
    Look,
    folded,
    headline,
    inches,
    sketch,
)
from bnnbench.results.metrics import Metric

NAME = 7
"""Points of the names below, which are many."""


def limits(values: list[np.ndarray]) -> tuple[float, float]:
    """Of an axis that shows the bulk of every box: some splits may lie orders of magnitude above.

    Nothing is cut off below, where the best are.
    """
    pooled = np.concatenate(values)
    low, high = np.quantile(pooled, (0.25, 0.75))
    inside = pooled[pooled <= high + 3 * (high - low)]
    margin = 0.06 * (inside.max() - inside.min()) or 0.1
    return float(inside.min() - margin), float(inside.max() + margin)


def draw_boxes(axes: Axes, places: list[int], values: list[np.ndarray]) -> None:
    """A box per place, and how many of its splits lie above the panel."""
    line: Look = {"color": BLUE, "linewidth": 0.9}
    axes.boxplot(
        values,
        positions=places,
        widths=0.6,
        boxprops=line,
        whiskerprops=line,
        capprops=line,
        medianprops={"color": ORANGE, "linewidth": 1.4},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": GREY},
    )
    low, high = limits(values)
    axes.set_ylim(low, high)
    for place, own in zip(places, values, strict=True):
        beyond = int((own > high).sum())
        if beyond:
            axes.text(place, high, f"{beyond}↑", ha="center", va="bottom", fontsize=6, color=GREY)


def draw_means(axes: Axes, places: list[int], values: list[np.ndarray]) -> None:
    """A mean and its standard error per place; an arrow where it lies above the panel."""
    mean = np.array([own.mean() for own in values])
    error = np.array([own.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0 for own in values])
    axes.errorbar(places, mean, error, fmt="o", color=BLUE, markersize=4, capsize=2)
    low, high = limits([np.concatenate([mean - error, mean + error])])
    axes.set_ylim(low, high)
    for k in np.flatnonzero(mean > high).tolist():
        # Beside its place, where an error bar may reach down from above.
        text: Look = {"ha": "left", "va": "top", "rotation": 90, "fontsize": 6, "color": GREY}
        axes.text(places[k] + 0.12, high, f"{mean[k]:.3g} ↑", **text)


DRAWN: Mapping[str, Callable[[Axes, list[int], list[np.ndarray]], None]] = {
    "boxes": draw_boxes,
    "means": draw_means,
}


def spread_figure(losses: pd.DataFrame, metric: Metric, kind: str, title: str = "") -> Figure:
    """Panels by depth and data set.

    Args:
        losses: of `losses_by_split`.
        metric: one of its columns.
        kind: a key of `DRAWN`.
        title: what the figure is of.
    """
    depths, datasets = sorted(losses["depth"].unique()), list(losses["dataset"].unique())
    width = max(2.4, 0.3 * losses["label"].nunique() + 0.7)
    longest = max(inches(str(name), NAME) for name in losses["label"].unique())
    size = (width * len(datasets) + 0.4, 2.4 * len(depths) + 0.6 + longest)
    figure, panels = sketch(*size, len(datasets), len(depths))
    for j, dataset in enumerate(datasets):
        column = losses[losses["dataset"] == dataset]
        # A name has one place in the whole column, whose last panel names it.
        names = sorted(set(column["label"]))
        for i, depth in enumerate(depths):
            axes, own = panels[i * len(datasets) + j], column[column["depth"] == depth]
            places = [k for k, name in enumerate(names) if (own["label"] == name).any()]
            if places:
                values = [own.loc[own["label"] == names[k], metric.key].to_numpy() for k in places]
                DRAWN[kind](axes, places, values)
            shown = names if i == len(depths) - 1 else [""] * len(names)
            axes.set_xlim(-0.6, len(names) - 0.4)
            axes.set_xticks(range(len(names)), shown, rotation=90, fontsize=NAME)
            head = folded(f"{dataset} · depth {depth}", width - 0.5, SMALL)
            axes.set_title(head, fontsize="small", pad=10, parse_math=False)
            axes.set_ylabel(metric.loss_axis if j == 0 else "", fontsize="small")
            axes.tick_params(axis="y", labelsize=NAME)
            # Whole numbers: a common factor would stand on the counts above the panel.
            axes.yaxis.set_major_formatter("{x:g}")
    headline(figure, title)
    return figure
