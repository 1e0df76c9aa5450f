"""Box plots and means of scores, by method, depth and data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    SMALL_POINTS,
    PlotOptions,
    add_title,
    new_figure,
    text_width,
    wrap_text,
)
from bnnbench.results.metrics import Metric

NAME_POINTS = 7
"""Font size of method names."""


def limits(values: list[np.ndarray]) -> tuple[float, float]:
    """Limits of an axis that shows the bulk of all boxes; some splits may be far above.

    Low values, the best ones, are never cut off.
    """
    pooled = np.concatenate(values)
    low, high = np.quantile(pooled, (0.25, 0.75))
    inside = pooled[pooled <= high + 3 * (high - low)]
    margin = 0.06 * (inside.max() - inside.min()) or 0.1
    return float(inside.min() - margin), float(inside.max() + margin)


def draw_boxes(axes: Axes, places: list[int], values: list[np.ndarray]) -> None:
    """Draw a box per place, and the number of splits above the panel."""
    line: PlotOptions = {"color": BLUE, "linewidth": 0.9}
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
    """Draw a mean and its standard error per place, or an arrow if it is above the panel."""
    mean = np.array([own.mean() for own in values])
    error = np.array([own.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0 for own in values])
    axes.errorbar(places, mean, error, fmt="o", color=BLUE, markersize=4, capsize=2)
    low, high = limits([np.concatenate([mean - error, mean + error])])
    axes.set_ylim(low, high)
    for k in np.flatnonzero(mean > high).tolist():
        # Next to its place, because its error bar may reach into the panel.
        text: PlotOptions = {
            "ha": "left",
            "va": "top",
            "rotation": 90,
            "fontsize": 6,
            "color": GREY,
        }
        axes.text(places[k] + 0.12, high, f"{mean[k]:.3g} ↑", **text)


DRAW_FUNCTIONS: Mapping[str, Callable[[Axes, list[int], list[np.ndarray]], None]] = {
    "boxes": draw_boxes,
    "means": draw_means,
}


def spread_figure(losses: pd.DataFrame, metric: Metric, kind: str, title: str = "") -> Figure:
    """Draw a row of panels per depth and a column per data set.

    Args:
        losses: from `losses_by_split`.
        metric: the metric to draw, a column of `losses`.
        kind: a key of `DRAW_FUNCTIONS`.
        title: title of the figure.
    """
    depths, datasets = sorted(losses["depth"].unique()), list(losses["dataset"].unique())
    width = max(2.4, 0.3 * losses["label"].nunique() + 0.7)
    longest = max(text_width(str(name), NAME_POINTS) for name in losses["label"].unique())
    size = (width * len(datasets) + 0.4, 2.4 * len(depths) + 0.6 + longest)
    figure, panels = new_figure(*size, len(datasets), len(depths))
    for j, dataset in enumerate(datasets):
        column = losses[losses["dataset"] == dataset]
        # Names have the same place in all panels of a column; the last panel prints them.
        names = sorted(set(column["label"]))
        for i, depth in enumerate(depths):
            axes, own = panels[i * len(datasets) + j], column[column["depth"] == depth]
            places = [k for k, name in enumerate(names) if (own["label"] == name).any()]
            if places:
                values = [own.loc[own["label"] == names[k], metric.key].to_numpy() for k in places]
                DRAW_FUNCTIONS[kind](axes, places, values)
            shown = names if i == len(depths) - 1 else [""] * len(names)
            axes.set_xlim(-0.6, len(names) - 0.4)
            axes.set_xticks(range(len(names)), shown, rotation=90, fontsize=NAME_POINTS)
            heading = wrap_text(f"{dataset} · depth {depth}", width - 0.5, SMALL_POINTS)
            axes.set_title(heading, fontsize="small", pad=10, parse_math=False)
            axes.set_ylabel(metric.loss_axis if j == 0 else "", fontsize="small")
            axes.tick_params(axis="y", labelsize=NAME_POINTS)
            # A scientific-notation offset would overlap the counts above the panel.
            axes.yaxis.set_major_formatter("{x:g}")
    add_title(figure, title)
    return figure
