"""Bar charts of a score: one panel per data set, one bar per run."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.scale import SymmetricalLogScale

from bnnbench.report.blocks import ERROR_BARS
from bnnbench.report.figures.inline_svg import hover_label
from bnnbench.report.figures.plotting import (
    PALETTE,
    SMALL_POINTS,
    PlotOptions,
    add_title,
    legend,
    text_width,
    wrap_text,
)
from bnnbench.results.labels import SEPARATOR, common_settings, labels
from bnnbench.results.metrics import Metric

MAX_WIDTH = 24.0
"""Of a figure with several panels, inches."""

MAX_RUNS, MAX_NAME_LENGTH = 24, 40
"""Beyond this number of runs per data set, or characters in a name, bars are horizontal."""

TITLE_POINTS = 12
"""Font size of panel titles."""

MAX_LINEAR_RATIO = 100
"""Largest mean over median mean on a linear axis. Beyond it the axis is symmetric-logarithmic."""

PUBLISHED_ERRORS = {
    "std": "standard deviation over splits (from its standard error and number of splits)",
    "stderr": "standard error",
}
"""Meaning of the error bars of published values, by key of `ERROR_BARS`."""

PUBLISHED_OPTIONS: PlotOptions = {
    "fmt": "D",
    "color": "black",
    "markerfacecolor": "white",
    "markersize": 5,
    "elinewidth": 1,
    "capsize": 2,
}
VALUE_OPTIONS: PlotOptions = {
    "fontsize": "x-small",
    "rotation": 90,
    "ha": "center",
    "zorder": 4,
    "bbox": {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
}


def bars_figure(table: pd.DataFrame, metric: Metric, error: str = "std") -> Figure:
    """Draw one metric with a panel per data set, a bar per run, and the published values.

    A panel shows the best `MAX_RUNS` runs of its data set. Error bars, of our means and of
    published values, are standard deviations over splits, as in the book's Figs. 4.16 and 4.17,
    or standard errors.
    """
    table = table.assign(label=labels(table))
    methods = list(dict.fromkeys(table["method"].sort_values()))
    colours = {method: PALETTE[i % len(PALETTE)] for i, method in enumerate(methods)}
    panels = [best_runs(group, metric) for _, group in table.groupby("dataset", sort=False)]
    left_out = len(table) - sum(map(len, panels))
    names = [name for group in panels for name in group["label"]]
    horizontal = left_out > 0 or max(map(len, names)) > MAX_NAME_LENGTH
    figure, grid, room = _panels(len(panels), max(map(len, panels)), names, horizontal)
    for axes, group in zip(grid, panels, strict=False):
        (_horizontal_bars if horizontal else _vertical_bars)(axes, group, metric, error, colours)
        # An explicit position spares matplotlib the search for one that avoids all labels.
        axes.set_title(wrap_text(group["dataset"].iloc[0], room, TITLE_POINTS), y=1)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    if not horizontal:
        figure.supylabel(metric.axis)
    title = (
        f"{common_settings(table)}\n"
        f"mean over splits, {metric.better} is better; error bars: {ERROR_BARS[error]} over splits"
    )
    if left_out:
        title = f"{title}; best {MAX_RUNS} runs per data set, {left_out} more are in the tables"
    if table[f"{metric.key}_published"].notna().any():
        theirs = f"published mean ± {PUBLISHED_ERRORS[error]}"
        grid[0].errorbar([], [], [], **PUBLISHED_OPTIONS, label=theirs)
        legend(figure, grid, title=title)
    else:
        add_title(figure, title)
    return figure


def best_runs(group: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The best `MAX_RUNS` runs by their mean, in their original order."""
    ranked = np.argsort(metric.sign * group[f"{metric.key}_mean"].to_numpy(), kind="stable")
    return group.iloc[np.sort(ranked[:MAX_RUNS])]


def _panels(
    panels: int, most: int, names: list[str], horizontal: bool
) -> tuple[Figure, list[Axes], float]:
    """Create a figure whose panels have room for `most` bars and the longest name.

    Returns:
        The figure, its panels, and the width available for a panel title, inches.
    """
    longest = max(
        text_width(part, SMALL_POINTS) for name in names for part in _name_lines(name, horizontal)
    )
    if horizontal:
        width, height = 3.4 + longest, 0.2 * most + 0.9
    else:
        width, height = max(2.6, 0.42 * most + 0.8), 2.5 + longest
    columns = max(1, min(4, panels, int(MAX_WIDTH / width)))
    rows = math.ceil(panels / columns)
    # Padding in inches keeps the means at the right clear of the next panel's labels.
    layout = ConstrainedLayoutEngine(w_pad=0.1)
    figure = Figure((max(5.5, columns * width), 1.1 + height * rows), layout=layout)
    room = figure.get_figwidth() / columns - 0.8 - longest * horizontal
    return figure, list(figure.subplots(rows, columns, squeeze=False).ravel()), room


def _name_lines(name: str, horizontal: bool) -> list[str]:
    """The lines of the label of a bar."""
    return [name] if horizontal else name.split(SEPARATOR)


def _vertical_bars(
    axes: Axes, group: pd.DataFrame, metric: Metric, error: str, colours: Mapping[str, str]
) -> None:
    means, spread = group[f"{metric.key}_mean"], group[f"{metric.key}_{error}"]
    axes.bar(
        range(len(group)),
        means,
        0.56,
        yerr=spread,
        color=[colours[method] for method in group["method"]],
        error_kw={"ecolor": "#333333", "elinewidth": 1, "capsize": 3},
    )
    _draw_published(axes, group, metric, error, horizontal=False)
    # At the base of the bar, on the side of the panel: short bars have no room inside.
    up = not means.min() < 0 or means.max() > -means.min()
    for place, mean in enumerate(means):
        shown = "diverged" if math.isnan(mean) else f"{mean:.3g}"
        offset: PlotOptions = {"xytext": (0, 4 if up else -4), "textcoords": "offset points"}
        axes.annotate(shown, (place, 0), **offset, va="bottom" if up else "top", **VALUE_OPTIONS)
    names = ["\n".join(_name_lines(label, horizontal=False)) for label in group["label"]]
    # Slanted labels of several lines would overlap.
    vertical: PlotOptions = {"rotation": 90, "linespacing": 0.95}
    slanted: PlotOptions = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    rotation = vertical if any("\n" in name for name in names) else slanted
    axes.set_xticks(range(len(group)), names, fontsize="small", **rotation)
    # Without a margin a single bar would fill its panel.
    margin = max(0, 3 - len(group)) / 2
    axes.set_xlim(-0.6 - margin, len(group) - 0.3 + margin)
    axes.axhline(0, color="black", linewidth=0.8)
    _scale(axes, "y", means, metric)


def _horizontal_bars(
    axes: Axes, group: pd.DataFrame, metric: Metric, error: str, colours: Mapping[str, str]
) -> None:
    """Draw bars from top to bottom, with names at the left and means at the right."""
    means, places = group[f"{metric.key}_mean"], range(len(group))
    axes.barh(
        places,
        means,
        0.7,
        xerr=group[f"{metric.key}_{error}"],
        color=[colours[method] for method in group["method"]],
        error_kw={"ecolor": "#333333", "elinewidth": 0.8, "capsize": 1.5},
    )
    _draw_published(axes, group, metric, error, horizontal=True)
    axes.set_yticks(places, group["label"], fontsize="small")
    axes.set_ylim(len(group) - 0.3, -0.7)
    axes.axvline(0, color="black", linewidth=0.8)
    _scale(axes, "x", means, metric)
    right = axes.get_yaxis_transform()
    for place, mean in enumerate(means):
        shown = "diverged" if math.isnan(mean) else f"{mean:.3g}"
        axes.text(1.02, place, shown, transform=right, va="center", fontsize="small")


def _draw_published(
    axes: Axes, group: pd.DataFrame, metric: Metric, error: str, horizontal: bool
) -> None:
    """Draw published values next to the bars; the source is shown on hover."""
    theirs = group[f"{metric.key}_published"]
    errors = group[f"{metric.key}_published_{error}"].fillna(0)
    places = [place + 0.4 for place in range(len(group))]
    points: PlotOptions = (
        {"x": theirs, "xerr": errors, "y": places}
        if horizontal
        else {"x": places, "y": theirs, "yerr": errors}
    )
    sources = group[f"{metric.key}_source"]
    line = axes.errorbar(**points, **PUBLISHED_OPTIONS)[0]
    line.set_label(hover_label(f"published, {source}" for source in sources))


def _scale(axes: Axes, direction: str, means: pd.Series, metric: Metric) -> None:
    """Label and scale an axis: symmetric-logarithmic if the range is large, from 0 for errors."""
    median = means.abs().median()
    label = metric.axis if direction == "x" else ""
    if means.abs().max() > MAX_LINEAR_RATIO * median > 0:
        threshold = 10.0 ** math.ceil(math.log10(median))
        axes.set(**{f"{direction}scale": SymmetricalLogScale(None, linthresh=threshold)})
        label = f"{label}\nlogarithmic beyond {threshold:g}".strip()
    axes.set(**{f"{direction}label": label})
    if metric.unit == "target":  # error bars may extend below zero
        axes.set(**{f"{direction}lim": (0, None)})
