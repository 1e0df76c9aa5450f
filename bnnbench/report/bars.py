"""Figures that compare runs: one bar chart per metric, one panel per data set."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures import PALETTE
from bnnbench.report.tables import labels
from bnnbench.settings import one_of

ERRORS = {"std": "standard deviation", "stderr": "standard error"}

NAMES = {
    "rmse": ("test RMSE [original units]", "lower"),
    "log_likelihood": ("test log-likelihood [nats]", "higher"),
}
"""Axis label of each metric, and which way is better."""

WIDEST = 24.0  # inches, unless a single panel is wider

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
    one_of("--error", error, tuple(ERRORS))
    results = results.assign(label=labels(results))
    methods = list(dict.fromkeys(results["method"].sort_values()))
    colours = {method: PALETTE[i % len(PALETTE)] for i, method in enumerate(methods)}
    panels = [group for _, group in results.groupby("dataset")]
    width = max(2.6, 0.42 * max(map(len, panels)) + 0.8)
    columns = max(1, min(4, len(panels), int(WIDEST / width)))
    rows = math.ceil(len(panels) / columns)
    figure = Figure((max(5.5, columns * width), 0.9 + 3 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, group in zip(grid, panels, strict=False):
        _bars(axes, group, metric, error, colours)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    name, better = NAMES[metric]
    figure.supylabel(name)
    figure.suptitle(
        f"mean over splits, {better} is better; error bars: {ERRORS[error]} over splits",
        fontsize="medium",
    )
    if results[f"{metric}_published"].notna().any():
        handle = grid[0].errorbar([], [], [], **PUBLISHED)
        name = "published mean ± standard error"
        figure.legend([handle], [name], loc="outside lower center", frameon=False)
    return figure


def _bars(
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
    axes.set_title(group["dataset"].iloc[0])
    axes.spines[["top", "right"]].set_visible(False)
