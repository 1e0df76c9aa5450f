"""Distribution of scores over splits, by method and depth (GVI thesis, Figs. 5.4-5.6 and 7.1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.blocks import Block, FigureBlock, Heading, Paragraph, Style
from bnnbench.report.figures import plotting
from bnnbench.report.sections.divergence_orders import with_orders
from bnnbench.results.labels import common_settings, labels
from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.run_tables import Runs

MIN_SPLITS = 2

LABEL_COLUMNS = ("dataset", "depth", "label")

MAX_BOXES = 300
"""Boxes in one figure. With more it would be unreadable."""

SPREAD_STATEMENT = (
    "A row of panels per depth; data sets are next to each other or, for lack of room, below each "
    "other. Lower is better. Box: median and "
    "quartiles over splits; whiskers: last split within 1.5 interquartile ranges; dots: splits "
    "beyond; numbers with an arrow: splits above the panel."
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
    if table.empty:
        return pd.DataFrame()
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
    line: plotting.PlotOptions = {"color": plotting.BLUE, "linewidth": 0.9}
    axes.boxplot(
        values,
        positions=places,
        widths=0.6,
        boxprops=line,
        whiskerprops=line,
        capprops=line,
        medianprops={"color": plotting.ORANGE, "linewidth": 1.4},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": plotting.GREY},
    )
    low, high = limits(values)
    axes.set_ylim(low, high)
    for place, own in zip(places, values, strict=True):
        beyond = int((own > high).sum())
        if beyond:
            axes.text(
                place, high, f"{beyond}↑", ha="center", va="bottom", fontsize="small",
                color=plotting.GREY,
            )  # fmt: skip


def spread_figure(losses: pd.DataFrame, metric: Metric, title: str = "") -> Figure:
    """Draw box plots in a row of panels per depth and a column per data set."""
    depths, datasets = sorted(losses["depth"].unique()), list(losses["dataset"].unique())
    width = max(2.4, 0.3 * losses["label"].nunique() + 0.7)
    all_labels = map(str, losses["label"].unique())
    longest = max(plotting.text_width(label, plotting.SMALL_POINTS) for label in all_labels)
    shape = len(depths), len(datasets)
    figure, grid = plotting.panel_grid(*shape, (width, 2.4), (0.4, 0.6 + longest))
    for j, dataset in enumerate(datasets):
        column = losses[losses["dataset"] == dataset]
        # Names have the same place in all panels of a column; the last panel prints them.
        names = sorted(set(column["label"]))
        for i, depth in enumerate(depths):
            axes, own = grid[i, j], column[column["depth"] == depth]
            places = [k for k, name in enumerate(names) if (own["label"] == name).any()]
            if places:
                values = [own.loc[own["label"] == names[k], metric.key].to_numpy() for k in places]
                draw_boxes(axes, places, values)
            shown = names if i == len(depths) - 1 else [""] * len(names)
            axes.set_xlim(-0.6, len(names) - 0.4)
            axes.set_xticks(range(len(names)), shown, rotation=90, fontsize=plotting.SMALL_POINTS)
            heading = plotting.wrap_text(
                f"{dataset} · depth {depth}", width - 0.5, plotting.SMALL_POINTS
            )
            axes.set_title(heading, fontsize="small", pad=14, parse_math=False)
            if plotting.is_leftmost(axes):
                axes.set_ylabel(metric.loss_axis, fontsize="small")
            axes.tick_params(axis="y", labelsize=plotting.SMALL_POINTS)
            # A scientific-notation offset would overlap the counts above the panel.
            axes.yaxis.set_major_formatter("{x:g}")
    plotting.add_title(figure, title)
    return figure
