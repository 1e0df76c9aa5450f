"""Scores against the seconds that they took: a point per run, and the front that nobody beats."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullFormatter

from bnnbench.report.figures.canvas import GREY, PALETTE, Look, folded, legend, sketch
from bnnbench.report.section import ERRORS
from bnnbench.results.labels import in_common
from bnnbench.results.metrics import Metric
from bnnbench.results.time_against_score import SECONDS, SHARED

MARKS = "osD^vP*X"
"""One after another, once the colours are used up."""


def time_figure(table: pd.DataFrame, metric: Metric, error: str = "std") -> Figure:
    """A panel per data set and experiment; marks on the front are full, and a line joins them.

    Args:
        table: of `time_against_score`.
        metric: a metric of the figures.
        error: a key of `ERRORS`.
    """
    groups = list(table.groupby(SHARED, sort=False))
    several = table["experiment"].nunique() > 1
    columns = min(4, len(groups))
    rows = math.ceil(len(groups) / columns)
    figure, panels = sketch(max(5.5, 3.3 * columns + 0.5), 2.9 * rows + 0.9, columns, rows)
    names = list(dict.fromkeys(table["label"]))
    looks: dict[str, Look] = {
        name: {"color": PALETTE[k % len(PALETTE)], "marker": MARKS[k // len(PALETTE) % len(MARKS)]}
        for k, name in enumerate(names)
    }
    for name, look in looks.items():  # as the legend shows them, on the front or not
        panels[0].plot([], [], label=name, linestyle="none", markerfacecolor="white", **look)
    for axes, (shared, group) in zip(panels, groups, strict=False):
        _panel(axes, group, metric, error, looks)
        head = " · ".join(map(str, shared[: 1 + several]))
        axes.set_title(folded(head, 2.6), fontsize="medium", parse_math=False)
    for axes in panels[len(groups) :]:
        axes.set_visible(False)
    figure.supxlabel("seconds of a split: search, fit and prediction", fontsize="medium")
    figure.supylabel(metric.axis, fontsize="medium")
    title = (
        f"{in_common(table)}\n"
        f"mean over splits, {metric.better} is better; error bars: {ERRORS[error]} over splits"
    )
    legend(figure, panels[: len(groups)], columns=len(names) + 1, title=title)
    return figure


def _ticks(ratio: float) -> Locator:
    """Of a logarithmic axis whose end is so many times its beginning."""
    if ratio < 4:  # perhaps no power of ten is among them
        return MaxNLocator(3)
    return LogLocator(subs=(1.0, 3.0) if ratio < 30 else (1.0,))


def _panel(
    axes: Axes, group: pd.DataFrame, metric: Metric, error: str, looks: Mapping[str, Look]
) -> None:
    seconds, scores = group[f"{SECONDS}_mean"], group[f"{metric.key}_mean"]
    axes.set_xscale("log")
    # An error bar that would reach below zero ends at a tenth: the axis has no zero.
    across = group[f"{SECONDS}_{error}"].fillna(0)
    below = across.clip(upper=0.9 * seconds)
    axes.xaxis.set_major_locator(_ticks((seconds + across).max() / (seconds - below).min()))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    colours = [looks[label]["color"] for label in group["label"]]
    bars: Look = {"fmt": "none", "ecolor": colours, "elinewidth": 0.8, "alpha": 0.6, "zorder": 2}
    spread = group[f"{metric.key}_{error}"].fillna(0)
    axes.errorbar(seconds, scores, spread, [below, across], **bars)
    for run, label in group["label"].items():
        full = looks[label]["color"] if group[f"{metric.key}_front"][run] else "white"
        point: Look = {"markersize": 6, "linestyle": "none", "markerfacecolor": full, "zorder": 3}
        axes.plot(seconds[run], scores[run], label=label, **looks[label], **point)
    front = group[group[f"{metric.key}_front"]].sort_values(f"{SECONDS}_mean")
    axes.plot(
        front[f"{SECONDS}_mean"],
        front[f"{metric.key}_mean"],
        color=GREY,
        linewidth=1,
        drawstyle="steps-post",
        zorder=1,
        label="Pareto front (full marks)",
    )
