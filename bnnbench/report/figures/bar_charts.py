"""Bar charts of a score: one panel per data set, one bar per run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.scale import SymmetricalLogScale

from bnnbench.report.figures.canvas import PALETTE, Look
from bnnbench.report.section import ERRORS
from bnnbench.results.labels import SEPARATOR, labels
from bnnbench.results.metrics import Metric

WIDEST = 24.0  # inches, unless a single panel is wider
MANY, LONG = 24, 40  # runs on one data set, letters of a name: beyond, bars lie, names beside
DWARFED = 100  # times the median mean: where one is larger, the axis is logarithmic far out

PUBLISHED: Look = {
    "fmt": "D",
    "color": "black",
    "markerfacecolor": "white",
    "markersize": 5,
    "elinewidth": 1,
    "capsize": 2,
}
INSIDE: Look = {
    "fontsize": "x-small",
    "rotation": 90,
    "bbox": {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
}


def bars_figure(table: pd.DataFrame, metric: Metric, error: str = "std") -> Figure:
    """Bars of one metric: a panel per data set, a bar per run, with the published values.

    Error bars are standard deviations over splits, as in the book's Figs. 4.16 and 4.17, or
    standard errors; published values always carry their standard error.

    Args:
        table: what `with_published` returns.
        metric: one of the figures.
        error: a key of `ERRORS`.
    """
    table = table.assign(label=labels(table))
    methods = list(dict.fromkeys(table["method"].sort_values()))
    colours = {method: PALETTE[i % len(PALETTE)] for i, method in enumerate(methods)}
    panels = [group for _, group in table.groupby("dataset")]
    most, longest = max(map(len, panels)), int(table["label"].str.len().max())
    lying = most > MANY or longest > LONG
    figure, grid = _panels(len(panels), most, longest, lying)
    for axes, group in zip(grid, panels, strict=False):
        (_lying if lying else _standing)(axes, group, metric, error, colours)
        axes.set_title(group["dataset"].iloc[0], y=1)  # else it is sought among all names
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    (figure.supxlabel if lying else figure.supylabel)(metric.axis)
    figure.suptitle(
        f"mean over splits, {metric.better} is better; error bars: {ERRORS[error]} over splits",
        fontsize="medium",
    )
    if table[f"{metric.key}_published"].notna().any():
        handle: Any = grid[0].errorbar([], [], [], **PUBLISHED)
        name = "published mean ± standard error"
        figure.legend([handle], [name], loc="outside lower center", frameon=False)
    return figure


def _panels(panels: int, most: int, longest: int, lying: bool) -> tuple[Figure, list[Axes]]:
    """A figure of as many panels, each with room for `most` bars and the longest name."""
    if lying:
        width, height = 2.8 + 0.08 * longest, 0.2 * most + 0.8
    else:
        width, height = max(2.6, 0.42 * most + 0.8), 3.0
    columns = max(1, min(4, panels, int(WIDEST / width)))
    rows = math.ceil(panels / columns)
    # Inches, or the means at the right run into the next panel's names.
    layout = ConstrainedLayoutEngine(w_pad=0.1)
    figure = Figure((max(5.5, columns * width), 0.9 + height * rows), layout=layout)
    return figure, list(figure.subplots(rows, columns, squeeze=False).ravel())


def _standing(
    axes: Axes, group: pd.DataFrame, metric: Metric, error: str, colours: Mapping[str, str]
) -> None:
    means, spread = group[f"{metric.key}_mean"], group[f"{metric.key}_{error}"]
    bars = axes.bar(
        range(len(group)),
        means,
        0.56,
        yerr=spread,
        color=[colours[method] for method in group["method"]],
        error_kw={"ecolor": "#333333", "elinewidth": 1, "capsize": 3},
    )
    axes.bar_label(bars, [f"{mean:.3g}" for mean in means], label_type="center", **INSIDE)
    axes.errorbar(
        [place + 0.4 for place in range(len(group))],
        group[f"{metric.key}_published"],
        group[f"{metric.key}_published_stderr"].fillna(0),
        **PUBLISHED,
    )
    for place, mean in enumerate(means):
        if math.isnan(mean):
            axes.text(place, 0, " diverged", rotation=90, ha="center", va="bottom")
    names = [label.replace(SEPARATOR, "\n") for label in group["label"]]
    # Slanted names of several lines would run into each other.
    upright: Look = {"rotation": 90, "linespacing": 0.95}
    slanted: Look = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    turned: Look = upright if any("\n" in name for name in names) else slanted
    axes.set_xticks(range(len(group)), names, fontsize="small", **turned)
    # A lone bar would fill its panel.
    margin = max(0, 3 - len(group)) / 2
    axes.set_xlim(-0.6 - margin, len(group) - 0.3 + margin)
    axes.axhline(0, color="black", linewidth=0.8)
    _scale(axes, "y", means, metric)


def _lying(
    axes: Axes, group: pd.DataFrame, metric: Metric, error: str, colours: Mapping[str, str]
) -> None:
    """The first run on top, each name on one line at its left and each mean at its right."""
    means, places = group[f"{metric.key}_mean"], range(len(group))
    axes.barh(
        places,
        means,
        0.7,
        xerr=group[f"{metric.key}_{error}"],
        color=[colours[method] for method in group["method"]],
        error_kw={"ecolor": "#333333", "elinewidth": 0.8, "capsize": 1.5},
    )
    axes.errorbar(
        group[f"{metric.key}_published"],
        [place + 0.4 for place in places],
        xerr=group[f"{metric.key}_published_stderr"].fillna(0),
        **PUBLISHED,
    )
    axes.set_yticks(places, group["label"], fontsize="small")
    axes.set_ylim(len(group) - 0.3, -0.7)
    axes.axvline(0, color="black", linewidth=0.8)
    _scale(axes, "x", means, metric)
    beside = axes.get_yaxis_transform()
    for place, mean in enumerate(means):
        shown = "diverged" if math.isnan(mean) else f"{mean:.3g}"
        axes.text(1.02, place, shown, transform=beside, va="center", fontsize="small")


def _scale(axes: Axes, direction: str, means: pd.Series, metric: Metric) -> None:
    """Makes an axis logarithmic far out, where some means dwarf others; no error is negative."""
    median = means.abs().median()
    if means.abs().max() > DWARFED * median > 0:
        bend = 10.0 ** math.ceil(math.log10(median))
        axes.set(**{
            f"{direction}scale": SymmetricalLogScale(None, linthresh=bend),
            f"{direction}label": f"logarithmic beyond {bend:g}",
        })  # fmt: skip
    if metric.unit == "target":  # an error bar may reach below zero
        axes.set(**{f"{direction}lim": (0, None)})
