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

from bnnbench.report.figures.canvas import PALETTE, SMALL, Look, folded, headline, inches, legend
from bnnbench.report.figures.hover import told
from bnnbench.report.section import ERRORS
from bnnbench.results.labels import SEPARATOR, in_common, labels
from bnnbench.results.metrics import Metric

WIDEST = 24.0  # inches, unless a single panel is wider
MANY, LONG = 24, 40  # runs on one data set, letters of a name: beyond, bars lie, names beside
LARGE = 12  # points of a panel's title
DWARFED = 100  # times the median mean: where one is larger, the axis is logarithmic far out

PUBLISHED_ERRORS = {
    "std": "standard deviation over splits (from its standard error and number of splits)",
    "stderr": "standard error",
}
"""By key of `ERRORS`, what the error bars of published values are."""

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
    "ha": "center",
    "zorder": 4,
    "bbox": {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
}


def bars_figure(table: pd.DataFrame, metric: Metric, error: str = "std") -> Figure:
    """Bars of one metric: a panel per data set, a bar per run, with the published values.

    A panel has the best `MANY` runs of its data set: nobody reads more, and tables have all.

    Error bars are standard deviations over splits, as in the book's Figs. 4.16 and 4.17, or
    standard errors: the same of ours and of published values.

    Args:
        table: what `with_published` returns.
        metric: one of the figures.
        error: a key of `ERRORS`.
    """
    table = table.assign(label=labels(table))
    methods = list(dict.fromkeys(table["method"].sort_values()))
    colours = {method: PALETTE[i % len(PALETTE)] for i, method in enumerate(methods)}
    whole = [group for _, group in table.groupby("dataset", sort=False)]
    panels = [best_of(group, metric) for group in whole]
    left_out = len(table) - sum(map(len, panels))
    names = [name for group in panels for name in group["label"]]
    lying = left_out > 0 or max(map(len, names)) > LONG
    figure, grid, room = _panels(len(panels), max(map(len, panels)), names, lying)
    for axes, group in zip(grid, panels, strict=False):
        (_lying if lying else _standing)(axes, group, metric, error, colours)
        # A place of its own, which else is sought among all names.
        axes.set_title(folded(group["dataset"].iloc[0], room, LARGE), y=1)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    if not lying:
        figure.supylabel(metric.axis)
    title = (
        f"{in_common(table)}\n"
        f"mean over splits, {metric.better} is better; error bars: {ERRORS[error]} over splits"
    )
    if left_out:
        title = f"{title}; the best {MANY} runs of a data set, {left_out} more are in the tables"
    if table[f"{metric.key}_published"].notna().any():
        theirs = f"published mean ± {PUBLISHED_ERRORS[error]}"
        grid[0].errorbar([], [], [], **PUBLISHED, label=theirs)
        legend(figure, grid, title=title)
    else:
        headline(figure, title)
    return figure


def best_of(group: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The best `MANY` runs by their mean, in the order that they had."""
    ranked = np.argsort(metric.sign * group[f"{metric.key}_mean"].to_numpy(), kind="stable")
    return group.iloc[np.sort(ranked[:MANY])]


def _panels(
    panels: int, most: int, names: list[str], lying: bool
) -> tuple[Figure, list[Axes], float]:
    """A figure of as many panels, each with room for `most` bars and the longest name.

    Returns:
        The figure, its panels, and how wide the title of one may be, inches.
    """
    longest = max(inches(part, SMALL) for name in names for part in _parts(name, lying))
    if lying:
        width, height = 3.4 + longest, 0.2 * most + 0.9
    else:
        width, height = max(2.6, 0.42 * most + 0.8), 2.5 + longest
    columns = max(1, min(4, panels, int(WIDEST / width)))
    rows = math.ceil(panels / columns)
    # Inches, or the means at the right run into the next panel's names.
    layout = ConstrainedLayoutEngine(w_pad=0.1)
    figure = Figure((max(5.5, columns * width), 1.1 + height * rows), layout=layout)
    room = figure.get_figwidth() / columns - 0.8 - longest * lying
    return figure, list(figure.subplots(rows, columns, squeeze=False).ravel()), room


def _parts(name: str, lying: bool) -> list[str]:
    """The lines of a name below or beside its bar."""
    return [name] if lying else name.split(SEPARATOR)


def _standing(
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
    _diamonds(axes, group, metric, error, lying=False)
    # At the foot of the bars and to the side where the panel is: a short bar has no room inside.
    up = not means.min() < 0 or means.max() > -means.min()
    for place, mean in enumerate(means):
        shown = "diverged" if math.isnan(mean) else f"{mean:.3g}"
        beside: Look = {"xytext": (0, 4 if up else -4), "textcoords": "offset points"}
        axes.annotate(shown, (place, 0), **beside, va="bottom" if up else "top", **INSIDE)
    names = ["\n".join(_parts(label, lying=False)) for label in group["label"]]
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
    _diamonds(axes, group, metric, error, lying=True)
    axes.set_yticks(places, group["label"], fontsize="small")
    axes.set_ylim(len(group) - 0.3, -0.7)
    axes.axvline(0, color="black", linewidth=0.8)
    _scale(axes, "x", means, metric)
    beside = axes.get_yaxis_transform()
    for place, mean in enumerate(means):
        shown = "diverged" if math.isnan(mean) else f"{mean:.3g}"
        axes.text(1.02, place, shown, transform=beside, va="center", fontsize="small")


def _diamonds(axes: Axes, group: pd.DataFrame, metric: Metric, error: str, lying: bool) -> None:
    """Published values beside the bars, and where a pointer rests on one its source."""
    theirs = group[f"{metric.key}_published"]
    errors = group[f"{metric.key}_published_{error}"].fillna(0)
    beside = [place + 0.4 for place in range(len(group))]
    given: Look = (
        {"x": theirs, "xerr": errors, "y": beside}
        if lying
        else {"x": beside, "y": theirs, "yerr": errors}
    )
    sources = group[f"{metric.key}_source"]
    line = axes.errorbar(**given, **PUBLISHED)[0]
    line.set_label(told(f"published, {source}" for source in sources))


def _scale(axes: Axes, direction: str, means: pd.Series, metric: Metric) -> None:
    """Makes an axis logarithmic far out, where some means dwarf others; no error is negative."""
    median = means.abs().median()
    said = metric.axis if direction == "x" else ""
    if means.abs().max() > DWARFED * median > 0:
        bend = 10.0 ** math.ceil(math.log10(median))
        axes.set(**{f"{direction}scale": SymmetricalLogScale(None, linthresh=bend)})
        said = f"{said}\nlogarithmic beyond {bend:g}".strip()
    axes.set(**{f"{direction}label": said})
    if metric.unit == "target":  # an error bar may reach below zero
        axes.set(**{f"{direction}lim": (0, None)})
