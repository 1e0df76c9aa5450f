"""Distribution of scores over splits, by method and depth (GVI thesis, Figs. 5.4-5.6 and 7.1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bnnbench.report.blocks import Block, FigureBlock, Heading, Paragraph, Style
from bnnbench.report.figures import plotting, points
from bnnbench.report.sections.divergence_orders import with_orders
from bnnbench.results.metric_table import Metric, printed_in
from bnnbench.results.read.labels import common_settings, labels
from bnnbench.results.read.run_tables import Runs

MIN_SPLITS = 2

LINE_HEIGHT, PANEL_WIDTH = 0.16, 2.6
"""Inches."""

LABEL_COLUMNS = ("dataset", "depth", "label")

MAX_BOXES = 300
"""Boxes in one figure. With more it would be unreadable."""

SPREAD_STATEMENT = (
    "A panel per data set and depth. Lower is better. Box: median and quartiles over splits; "
    "whiskers: last split within 1.5 interquartile ranges; dots: splits beyond; numbers with an "
    "arrow: splits beyond the panel."
)

TOO_MANY = (
    f"More than {MAX_BOXES} runs do not fit into one figure. Report the runs of one experiment or "
    "data set to see it."
)


def losses_by_split(runs: Runs) -> pd.DataFrame:
    """Return a row per split that did not diverge, for every run on several splits.

    Families of orders are left out: their scores are plotted against the order.

    Returns:
        Columns `run`, `split`, `LABEL_COLUMNS` (`label` without the depth) and the metrics shown
        in figures.
    """
    table = runs.scored
    grid = table.index.isin(with_orders(table).index)
    table = table[(table["splits"] >= MIN_SPLITS) & ~grid]
    if table.empty:
        return pd.DataFrame()
    names = table.assign(label=labels(table, ignore=("depth",)))[list(LABEL_COLUMNS)]
    splits = runs.splits[runs.splits["diverged"] == 0]
    losses = {metric.key: metric.sign * splits[metric.key] for metric in printed_in("figures")}
    return splits[["run", "split"]].assign(**losses).join(names, on="run", how="inner")


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """Box plots, if runs on one data set differ in divergence or depth."""
    losses = runs.cached(losses_by_split)
    if losses.empty:
        return
    shown = runs.scored.loc[losses["run"].unique()]
    choices = shown.groupby(["dataset", "method"])[["divergence", "depth"]].nunique()
    if not (choices > 1).any(axis=None):
        return
    yield Heading("Distribution over splits")
    if len(shown) > MAX_BOXES:
        yield Paragraph(TOO_MANY)
        return
    yield Paragraph(SPREAD_STATEMENT)
    title = common_settings(shown)
    for metric in style.run_filter.metrics_among(printed_in("figures")):
        caption = f"Distribution over splits of the {metric.loss_axis}"
        draw = partial(spread_figure, losses, metric, title)
        yield FigureBlock(f"boxes_{metric.key}", caption, draw)


def limits(values: list[np.ndarray]) -> tuple[float, float]:
    """Limits of an axis that shows the bulk of all boxes; some splits may be far beyond.

    Low values, the best ones, are never cut off.
    """
    pooled = np.concatenate(values)
    low, high = np.quantile(pooled, (0.25, 0.75))
    inside = pooled[pooled <= high + 3 * (high - low)]
    margin = 0.06 * (inside.max() - inside.min()) or 0.1
    return float(inside.min() - margin), float(inside.max() + margin)


def draw_boxes(axes: Axes, places: list[int], values: list[np.ndarray]) -> None:
    """Draw a horizontal box per place, and the number of splits beyond the panel."""
    line: plotting.PlotOptions = {"color": plotting.BLUE, "linewidth": 0.9}
    axes.boxplot(
        values,
        positions=places,
        widths=0.6,
        orientation="horizontal",
        boxprops=line,
        whiskerprops=line,
        capprops=line,
        medianprops={"color": plotting.ORANGE, "linewidth": 1.4},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": plotting.GREY},
    )
    low, high = limits(values)
    axes.set_xlim(low, high)
    for place, own in zip(places, values, strict=True):
        beyond = int((own > high).sum())
        if beyond:
            axes.annotate(f"{beyond}→", (high, place), (3, 0), textcoords="offset points",
                          va="center", fontsize="small", color=plotting.GREY)  # fmt: skip


def spread_figure(losses: pd.DataFrame, metric: Metric, title: str = "") -> Figure:
    """Draw box plots: a panel per data set and depth, in which each label has the same line.

    With several depths, a row has the panels of a data set.
    """
    depths, datasets = sorted(losses["depth"].unique()), list(losses["dataset"].unique())
    names = sorted(losses["label"].unique())
    wrapped = [
        plotting.wrap_text(name, points.MAX_NAME_WIDTH, plotting.SMALL_POINTS) for name in names
    ]
    lines = [line for name in wrapped for line in name.split("\n")]
    longest = max(plotting.text_width(line, plotting.SMALL_POINTS) for line in lines)
    height = 0.7 + LINE_HEIGHT * len(names) * max(name.count("\n") + 1 for name in wrapped)
    shape = (len(datasets), len(depths)) if len(depths) > 1 else (1, len(datasets))
    figure, grid = plotting.panel_grid(*shape, (PANEL_WIDTH, height), (0.3 + longest, 0.4))
    for axes, (dataset, depth) in zip(grid.flat, product(datasets, depths), strict=True):
        own = losses[(losses["dataset"] == dataset) & (losses["depth"] == depth)]
        values = {
            place: own.loc[own["label"] == name, metric.key].to_numpy()
            for place, name in enumerate(names)
            if (own["label"] == name).any()
        }
        if values:
            draw_boxes(axes, list(values), list(values.values()))
        shown = wrapped if plotting.is_leftmost(axes) else [""] * len(names)
        axes.set_ylim(len(names) - 0.4, -0.6)  # the first on top
        axes.set_yticks(range(len(names)), shown, fontsize=plotting.SMALL_POINTS)
        for label in axes.get_yticklabels():
            label.set_parse_math(False)
        plotting.panel_title(axes, f"{dataset} · depth {depth}", PANEL_WIDTH - 0.5)
        axes.tick_params(axis="x", labelsize=plotting.SMALL_POINTS)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        # A scientific-notation offset would overlap the label of the axis.
        axes.xaxis.set_major_formatter("{x:g}")
        axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    figure.supxlabel(metric.loss_axis, fontsize="small")
    plotting.add_title(figure, title)
    return figure
