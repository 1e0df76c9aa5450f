"""Scores against computing time, with the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullFormatter

from bnnbench.report.blocks import ERROR_BARS
from bnnbench.report.figures.plotting import (
    GREY,
    PALETTE,
    PlotOptions,
    legend,
    new_figure,
    wrap_text,
)
from bnnbench.results.labels import common_settings
from bnnbench.results.metrics import Metric
from bnnbench.results.time_against_score import GROUP_COLUMNS, SECONDS

MARKERS = "osD^vP*X"
"""Marker shapes; the next one is used when all colours are taken."""


def time_figure(table: pd.DataFrame, metric: Metric, error: str = "std") -> Figure:
    """Draw a panel per data set and experiment. Filled markers and a line show the Pareto front.

    Args:
        table: from `time_against_score`.
        metric: the metric to draw.
        error: a key of `ERROR_BARS`.
    """
    groups = list(table.groupby(GROUP_COLUMNS, sort=False))
    several = table["experiment"].nunique() > 1
    columns = min(4, len(groups))
    rows = math.ceil(len(groups) / columns)
    figure, panels = new_figure(max(5.5, 3.3 * columns + 0.5), 2.9 * rows + 0.9, columns, rows)
    names = list(dict.fromkeys(table["label"]))
    styles: dict[str, PlotOptions] = {
        name: {
            "color": PALETTE[k % len(PALETTE)],
            "marker": MARKERS[k // len(PALETTE) % len(MARKERS)],
        }
        for k, name in enumerate(names)
    }
    for name, style in styles.items():  # legend entries
        panels[0].plot([], [], label=name, linestyle="none", markerfacecolor="white", **style)
    for axes, (shared, group) in zip(panels, groups, strict=False):
        _panel(axes, group, metric, error, styles)
        heading = " · ".join(map(str, shared[: 1 + several]))
        axes.set_title(wrap_text(heading, 2.6), fontsize="medium", parse_math=False)
    for axes in panels[len(groups) :]:
        axes.set_visible(False)
    figure.supxlabel("seconds per split: search, fit and prediction", fontsize="medium")
    figure.supylabel(metric.axis, fontsize="medium")
    title = (
        f"{common_settings(table)}\n"
        f"mean over splits, {metric.better} is better; error bars: {ERROR_BARS[error]} over splits"
    )
    legend(figure, panels[: len(groups)], columns=len(names) + 1, title=title)
    return figure


def _ticks(ratio: float) -> Locator:
    """Tick locator of a logarithmic axis, given the ratio of its limits."""
    if ratio < 4:  # may not contain a power of ten
        return MaxNLocator(3)
    return LogLocator(subs=(1.0, 3.0) if ratio < 30 else (1.0,))


def _panel(
    axes: Axes, group: pd.DataFrame, metric: Metric, error: str, styles: Mapping[str, PlotOptions]
) -> None:
    seconds, scores = group[f"{SECONDS}_mean"], group[f"{metric.key}_mean"]
    axes.set_xscale("log")
    # Error bars that would reach below zero are cut at a tenth of the mean on the log axis.
    across = group[f"{SECONDS}_{error}"].fillna(0)
    below = across.clip(upper=0.9 * seconds)
    axes.xaxis.set_major_locator(_ticks((seconds + across).max() / (seconds - below).min()))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    colours = [styles[label]["color"] for label in group["label"]]
    bars: PlotOptions = {
        "fmt": "none",
        "ecolor": colours,
        "elinewidth": 0.8,
        "alpha": 0.6,
        "zorder": 2,
    }
    spread = group[f"{metric.key}_{error}"].fillna(0)
    axes.errorbar(seconds, scores, spread, [below, across], **bars)
    for run, label in group["label"].items():
        full = styles[label]["color"] if group[f"{metric.key}_front"][run] else "white"
        point: PlotOptions = {
            "markersize": 6,
            "linestyle": "none",
            "markerfacecolor": full,
            "zorder": 3,
        }
        axes.plot(seconds[run], scores[run], label=label, **styles[label], **point)
    front = group[group[f"{metric.key}_front"]].sort_values(f"{SECONDS}_mean")
    axes.plot(
        front[f"{SECONDS}_mean"],
        front[f"{metric.key}_mean"],
        color=GREY,
        linewidth=1,
        drawstyle="steps-post",
        zorder=1,
        label="Pareto front (filled markers)",
    )
