"""Seconds per split against scores, and the Pareto front of both."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullFormatter

from bnnbench.report import blocks
from bnnbench.report.figures.plotting import (
    GREY,
    PlotOptions,
    legend,
    marker_styles,
    panel_title,
    small_multiples,
)
from bnnbench.results.metric_table import Metric, printed_in
from bnnbench.results.read.labels import common_settings, labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import STATISTICS, comparable_losses, with_incomplete

SECONDS = "total_seconds"
"""Seconds of search, final fit and prediction of one split."""

METADATA_COLUMNS = ("dataset", "experiment", "method", "label", "seed", "splits")

GROUP_COLUMNS = ["dataset", "experiment"]
"""Runs with the same values are compared: they share their splits."""

MAX_PANELS = 8
"""Panels (data set and experiment) in one figure. Further ones are drawn in further figures."""

MAX_RUNS = 40
"""Runs on one data set. With more a panel would be unreadable."""

TIME_STATEMENT = (
    "Time is the wall-clock time per split for search, final fit and prediction; splits trained "
    "in one stack share its time equally. Times are comparable only if the runs used the same, "
    "otherwise idle machine. A run is on the Pareto front if no other run of the same experiment "
    "and data set is at least as fast and as good, and better in one of the two. Runs with fewer "
    "splits than the others, or with diverged splits, are not on it. Means that differ by less "
    "than their errors may change places."
)


def pareto_front(seconds: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Return which points no other point dominates.

    Args:
        seconds: `[N]`, lower is better.
        losses: `[N]`, lower is better.

    Returns:
        `[N]` booleans; False for points that are not finite.
    """
    known = np.isfinite(seconds) & np.isfinite(losses)
    no_more = (seconds[:, None] <= seconds) & (losses[:, None] <= losses)
    less = (seconds[:, None] < seconds) | (losses[:, None] < losses)
    beaten = (no_more & less & known[:, None]).any(axis=0)
    return np.asarray(known & ~beaten)


def time_against_score(runs: Runs, metrics: Sequence[Metric]) -> pd.DataFrame:
    """Return the timed runs of experiments with at least two of them on a real data set.

    Returns:
        Columns `METADATA_COLUMNS`, mean, std and stderr of the seconds and of every metric, and
        `<metric>_front`: whether no comparable run is both faster and better.
    """
    table = runs.scored
    timed = table[~table["synthetic"].astype(bool) & (table[f"{SECONDS}_mean"] > 0)]
    timed = timed[timed.groupby(GROUP_COLUMNS)["method"].transform("size") > 1]
    if timed.empty:
        return pd.DataFrame()
    numbers = [
        f"{key}_{kind}"
        for key in (SECONDS, *(metric.key for metric in metrics))
        for kind in STATISTICS
    ]
    fronts = [f"{metric.key}_front" for metric in metrics]
    columns = [*METADATA_COLUMNS, *numbers, *fronts]
    timed = with_incomplete(timed.assign(label=labels(timed)), runs.splits, GROUP_COLUMNS)
    return with_fronts(timed, metrics)[columns]


def with_fronts(
    table: pd.DataFrame, metrics: Sequence[Metric], time: str = SECONDS
) -> pd.DataFrame:
    """Add `<metric>_front`: whether a run is on the Pareto front of its group.

    Incomplete runs, and those with diverged splits, are not.
    """
    table = table.assign(**{f"{metric.key}_front": False for metric in metrics})
    for _, group in table.groupby(GROUP_COLUMNS):
        for metric in metrics:
            losses = comparable_losses(group, metric).where(group["diverged"] == 0)
            front = pareto_front(group[f"{time}_mean"].to_numpy(), losses.to_numpy())
            table.loc[group.index, f"{metric.key}_front"] = front
    return table


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Scatter plots of data sets with two timed runs."""
    requested = style.run_filter.metrics_or(printed_in("figures"))
    metrics = tuple(metric for metric in requested if metric.unit != "s")
    table = time_against_score(runs, metrics)
    if table.empty or not metrics:
        return
    yield blocks.Heading("Time against score")
    yield blocks.Paragraph(TIME_STATEMENT)
    yield blocks.DataFile(
        "time_against_score", table, "Times, scores and membership of the Pareto front:"
    )
    groups = table.groupby(GROUP_COLUMNS, sort=False)
    drawn = table[groups["method"].transform("size") <= MAX_RUNS]
    if len(drawn) < len(table):
        yield blocks.Paragraph(f"Data sets with more than {MAX_RUNS} runs are not drawn.")
    panels = drawn.groupby(GROUP_COLUMNS, sort=False).ngroup()
    for metric in metrics:
        caption = (
            f"Test {metric.inline_title} against time per split. Error bars: "
            f"{blocks.ERROR_BARS[style.error_bars]} over splits; filled markers and line: Pareto "
            "front"
        )
        for number, chunk in enumerate(blocks.even_chunks(sorted(panels.unique()), MAX_PANELS), 1):
            draw = partial(time_figure, drawn[panels.isin(chunk)], metric, style.error_bars)
            yield blocks.FigureBlock(
                blocks.numbered_name(f"time_{metric.key}", number), caption, draw
            )


TIME_AXES = {
    SECONDS: "seconds per split: search, fit and prediction",
    "cpu_ratio": "CPU seconds per split / reference time",
}
"""Title of the axis by column of time."""


def time_figure(
    table: pd.DataFrame,
    metric: Metric,
    error: str = "std",
    time: str = SECONDS,
    highlighted: Collection[str] = (),
) -> Figure:
    """Draw a panel per data set and experiment. Filled markers and a line show the Pareto front.

    Args:
        table: from `time_against_score`, or with the same columns for another `time`.
        metric: the score.
        error: a key of `ERROR_BARS`.
        time: a key of `TIME_AXES`.
        highlighted: digests of runs that are drawn as stars, see `run_styles`.
    """
    groups = list(table.groupby(GROUP_COLUMNS, sort=False))
    several = table["experiment"].nunique() > 1
    figure, panels = small_multiples(len(groups), 3, (3.3, 2.9), (0.5, 0.9), 5.5)
    styles = run_styles(panels[0], table, metric, highlighted)
    for axes, (shared, group) in zip(panels, groups, strict=True):
        _panel(axes, group, metric, error, styles, time)
        panel_title(axes, " · ".join(map(str, shared[: 1 + several])), 2.6, "medium")
    figure.supxlabel(TIME_AXES[time], fontsize="medium")
    figure.supylabel(metric.axis, fontsize="medium")
    title = (
        f"{common_settings(table)}\n"
        f"mean over splits, {metric.better} is better; "
        f"error bars: {blocks.ERROR_BARS[error]} over splits"
    )
    legend(figure, panels, columns=len(styles) + 1, title=title)
    return figure


def run_styles(
    axes: Axes, table: pd.DataFrame, metric: Metric, highlighted: Collection[str]
) -> Mapping[str, PlotOptions]:
    """Return plot options by label, and add legend entries to the axes.

    If any run is highlighted, it is a star, and only runs on a front have colours and names.
    """
    mine = table.index.isin(list(highlighted))
    named = table[f"{metric.key}_front"] & ~mine if mine.any() else ~mine
    star: PlotOptions = {"color": "black", "marker": "*", "markersize": 13}
    stars = dict.fromkeys(table.loc[mine, "label"], star)
    for label in stars:
        axes.plot([], [], label=label, linestyle="none", **star)
    grey = {name: {"color": GREY, "marker": "o", "label": f"_{name}"} for name in table["label"]}
    names = list(dict.fromkeys(table.loc[named, "label"]))
    return grey | marker_styles(axes, names, markerfacecolor="white") | stars


def _ticks(ratio: float) -> Locator:
    """Tick locator of a logarithmic axis, given the ratio of its limits."""
    if ratio < 4:  # may not contain a power of ten
        return MaxNLocator(3)
    return LogLocator(subs=(1.0, 3.0) if ratio < 300 else (1.0,))


def _panel(
    axes: Axes,
    group: pd.DataFrame,
    metric: Metric,
    error: str,
    styles: Mapping[str, PlotOptions],
    time: str,
) -> None:
    seconds, scores = group[f"{time}_mean"], group[f"{metric.key}_mean"]
    axes.set_xscale("log")
    # Error bars that would reach below zero are cut at a tenth of the mean on the log axis.
    across = group[f"{time}_{error}"].fillna(0)
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
        axes.plot(seconds[run], scores[run], **{"label": label, **point, **styles[label]})
    front = group[group[f"{metric.key}_front"]].sort_values(f"{time}_mean")
    axes.plot(
        front[f"{time}_mean"],
        front[f"{metric.key}_mean"],
        color=GREY,
        linewidth=1,
        drawstyle="steps-post",
        zorder=1,
        label="Pareto front (filled markers)",
    )
