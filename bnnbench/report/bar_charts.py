"""Figures that compare runs: one bar chart per metric, one panel per data set."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.scale import SymmetricalLogScale

from bnnbench.checks import check_choice
from bnnbench.report.plotting import PALETTE
from bnnbench.results.tables import labels

ERRORS = {"std": "standard deviation", "stderr": "standard error"}

NAMES = {
    "rmse": ("test RMSE [original units]", "lower"),
    "log_likelihood": ("test log-likelihood [nats]", "higher"),
}
"""Axis label of each metric, and which way is better."""

WIDEST = 24.0  # inches, unless a single panel is wider
MANY, LONG = 24, 40  # runs on one data set, letters of a name: beyond, bars lie, names beside
DWARFED = 100  # times the median mean: where one is larger, the axis is logarithmic far out

PUBLISHED: dict[str, Any] = {
    "fmt": "D",
    "color": "black",
    "markerfacecolor": "white",
    "markersize": 5,
    "elinewidth": 1,
    "capsize": 2,
}
INSIDE: dict[str, Any] = {
    "fontsize": "x-small",
    "rotation": 90,
    "bbox": {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
}


def bars_figure(results: pd.DataFrame, metric: str, error: str = "std") -> Figure:
    """Bars of one metric: a panel per data set, a bar per run, with the published values.

    Error bars are standard deviations over splits, as in the book's Figs. 4.16 and 4.17, or
    standard errors; published values always carry their standard error.

    Args:
        results: what `with_published` returns.
        metric: `rmse` or `log_likelihood`, in original units.
        error: `std` or `stderr`.

    Raises:
        UserError: if `error` is neither.
    """
    check_choice("--error", error, tuple(ERRORS))
    results = results.assign(label=labels(results))
    methods = list(dict.fromkeys(results["method"].sort_values()))
    colours = {method: PALETTE[i % len(PALETTE)] for i, method in enumerate(methods)}
    panels = [group for _, group in results.groupby("dataset")]
    most = max(map(len, panels))
    longest = results["label"].str.len().max()
    lying = most > MANY or longest > LONG
    if lying:
        width, height = 2.8 + 0.08 * longest, 0.2 * most + 0.8
    else:
        width, height = max(2.6, 0.42 * most + 0.8), 3.0
    columns = max(1, min(4, len(panels), int(WIDEST / width)))
    rows = math.ceil(len(panels) / columns)
    # Inches, or the means at the right run into the next panel's names.
    layout = ConstrainedLayoutEngine(w_pad=0.1)
    figure = Figure((max(5.5, columns * width), 0.9 + height * rows), layout=layout)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, group in zip(grid, panels, strict=False):
        (_lying if lying else _standing)(axes, group, metric, error, colours)
        axes.set_title(group["dataset"].iloc[0])
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    name, better = NAMES[metric]
    (figure.supxlabel if lying else figure.supylabel)(name)
    figure.suptitle(
        f"mean over splits, {better} is better; error bars: {ERRORS[error]} over splits",
        fontsize="medium",
    )
    if results[f"{metric}_published"].notna().any():
        handle = grid[0].errorbar([], [], [], **PUBLISHED)
        name = "published mean ± standard error"
        figure.legend([handle], [name], loc="outside lower center", frameon=False)
    return figure


def _standing(
    axes: Axes, group: pd.DataFrame, metric: str, error: str, colours: dict[str, str]
) -> None:
    means, spread = group[f"{metric}_mean"], group[f"{metric}_{error}"]
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
        group[f"{metric}_published"],
        group[f"{metric}_published_stderr"].fillna(0),
        **PUBLISHED,
    )
    for place, mean in enumerate(means):
        if math.isnan(mean):
            axes.text(place, 0, " diverged", rotation=90, ha="center", va="bottom")
    names = [label.replace(" · ", "\n") for label in group["label"]]
    # Slanted names of several lines would run into each other.
    upright = {"rotation": 90, "linespacing": 0.95}
    slanted = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    turned: dict[str, Any] = upright if any("\n" in name for name in names) else slanted
    axes.set_xticks(range(len(group)), names, fontsize="small", **turned)
    # A lone bar would fill its panel.
    margin = max(0, 3 - len(group)) / 2
    axes.set_xlim(-0.6 - margin, len(group) - 0.3 + margin)
    axes.axhline(0, color="black", linewidth=0.8)
    _scale(axes, "y", means, metric)


def _lying(
    axes: Axes, group: pd.DataFrame, metric: str, error: str, colours: dict[str, str]
) -> None:
    """The first run on top, each name on one line at its left and each mean at its right."""
    means, places = group[f"{metric}_mean"], range(len(group))
    axes.barh(
        places,
        means,
        0.7,
        xerr=group[f"{metric}_{error}"],
        color=[colours[method] for method in group["method"]],
        error_kw={"ecolor": "#333333", "elinewidth": 0.8, "capsize": 1.5},
    )
    axes.errorbar(
        group[f"{metric}_published"],
        [place + 0.4 for place in places],
        xerr=group[f"{metric}_published_stderr"].fillna(0),
        **PUBLISHED,
    )
    axes.set_yticks(places, group["label"], fontsize="small")
    axes.set_ylim(len(group) - 0.3, -0.7)
    axes.axvline(0, color="black", linewidth=0.8)
    _scale(axes, "x", means, metric)
    figures = axes.secondary_yaxis("right")
    shown = ["diverged" if math.isnan(mean) else f"{mean:.3g}" for mean in means]
    figures.set_yticks(places, shown, fontsize="small")
    figures.tick_params(length=0)
    figures.spines["right"].set_visible(False)


def _scale(axes: Axes, direction: str, means: pd.Series, metric: str) -> None:
    """Makes an axis logarithmic far out, where some means dwarf the others; no RMSE is negative."""
    median = means.abs().median()
    if means.abs().max() > DWARFED * median > 0:
        bend = 10.0 ** math.ceil(math.log10(median))
        axes.set(**{
            f"{direction}scale": SymmetricalLogScale(None, linthresh=bend),
            f"{direction}label": f"logarithmic beyond {bend:g}",
        })  # fmt: skip
    if metric == "rmse":  # an error bar may reach below
        axes.set(**{f"{direction}lim": (0, None)})
