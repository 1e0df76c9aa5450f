"""Pairwise significance tests between methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from bnnbench.report import blocks
from bnnbench.report.figures import plotting
from bnnbench.results import significance
from bnnbench.results.labels import common_settings, labels, marked_labels
from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.pairing import MIN_COMMON_SPLITS, dataset_pairs, unpaired_messages
from bnnbench.results.reader import Runs

MAX_RUNS = 20
"""Runs in a heat map of pairs. With more it would be unreadable."""

PAIRS_STATEMENT = (
    "Bayesian correlated t-test for each pair of runs, on splits with the same test rows, with a "
    "region of practical equivalence of 1 % (RMSE, CRPS) or 0.01 nats. A win or a loss is a "
    "difference beyond this region with probability above 0.95; everything else is a tie. Runs "
    f"with fewer than {MIN_COMMON_SPLITS} common splits are not compared."
)

COLUMNS = blocks.columns(
    {"Metric": "{metric}", "Method": "{method}"},
    {"Wins": "{wins}", "Ties": "{ties}", "Losses": "{losses}"},
)

MAX_COLUMNS = 4
"""Panels in a row."""


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Wins, ties and losses, and heat maps, of two or more runs on one data set."""
    if runs.scored.empty:
        return
    names, metrics = labels(runs.scored), style.run_filter.metrics_or(printed_in("pairs"))
    comparisons = pairs_of(runs, metrics)
    pairs = significance.add_names(comparisons, names)
    unpaired = unpaired_messages(dataset_pairs(runs, metrics=()), names)
    if pairs.empty and not unpaired:
        return
    yield blocks.Heading("Pairwise comparison")
    if len(pairs):
        yield blocks.Paragraph(
            f"{PAIRS_STATEMENT} These pairs: {significance.describe_shared_splits(pairs)}."
        )
    yield from map(blocks.Paragraph, unpaired)
    if pairs.empty:
        return
    yield blocks.DataFile("comparisons", pairs, "All comparisons:")
    marked = marked_labels(runs.scored)
    counts = significance.tally(significance.add_names(comparisons, marked))
    if style.run_filter.methods:
        counts = in_order(counts, [metric.key for metric in metrics], list(marked))
    yield blocks.fill(COLUMNS, counts)
    if len({*pairs["a"], *pairs["b"]}) > MAX_RUNS:
        return
    title = common_settings(runs.scored.loc[list({*pairs["run_a"], *pairs["run_b"]})])
    order = list(dict.fromkeys(names)) if style.run_filter.methods else sorted(set(names))
    for metric in style.run_filter.metrics_or(printed_in("figures")):
        own = pairs[pairs["metric"] == metric.key]
        caption = (
            f"Test {metric.inline_title}: probability that the method of the row is better than "
            "that of the column"
        )
        yield blocks.FigureBlock(
            f"comparison_{metric.key}", caption, partial(heat_map, own, title, order)
        )


def in_order(counts: pd.DataFrame, metrics: list[str], names: list[str]) -> pd.DataFrame:
    """Sort a tally by metric, then by method, in the given orders."""
    places = counts["metric"].map(metrics.index), counts["method"].map(names.index)
    return counts.iloc[np.lexsort(places[::-1])]


def pairs_of(runs: Runs, metrics: Sequence[Metric]) -> pd.DataFrame:
    """Comparisons of all pairs; those by the default metrics are computed once per report."""
    default = printed_in("pairs")
    if not {*metrics} <= {*default}:
        return significance.compare_pairs(dataset_pairs(runs, metrics=metrics), metrics=metrics)
    pairs = runs.cached(significance.all_pairs)
    return pairs if metrics == default else pairs[pairs["metric"].isin([m.key for m in metrics])]


def heat_map(pairs: pd.DataFrame, title: str = "", order: Sequence[str] = ()) -> Figure:
    """Draw P(row better than column), beyond the ROPE, with one panel per data set.

    All panels have the same names, which are printed only at the left and at the bottom. `pairs`
    are those of one metric; without `order` the names are sorted.
    """
    groups = list(pairs.groupby("dataset", sort=False))
    there = {*pairs["a"], *pairs["b"]}
    names = [name for name in order if name in there] or sorted(there)
    columns = min(MAX_COLUMNS, len(groups))
    rows, side = -(-len(groups) // columns), max(1.6, 0.42 * len(names) + 0.3)
    longest = max(plotting.text_width(name, plotting.SMALL_POINTS) for name in names)
    size = ((side + 0.25) * columns + longest + 1.5, (side + 0.35) * rows + longest + 0.6)
    figure, panels = plotting.new_figure(*size, columns, rows)
    for place, (axes, (dataset, group)) in enumerate(zip(panels, groups, strict=False)):
        below, left = place + columns >= len(groups), place % columns == 0
        image = _panel(axes, _probabilities(group, names), below, left)
        plotting.panel_title(axes, str(dataset), side - 0.2, "medium")
    for axes in panels[len(groups) :]:
        axes.set_axis_off()
    figure.colorbar(image, ax=panels, label="P(row better than column)", shrink=0.8, panchor=False)
    plotting.add_title(figure, title)
    return figure


def _probabilities(pairs: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The probability that the row is better than the column; NaN for pairs not compared."""
    table = pd.DataFrame(np.nan, index=names, columns=names)
    for row in pairs.to_dict("records"):
        table.loc[row["a"], row["b"]] = row["p_better"]
        table.loc[row["b"], row["a"]] = row["p_worse"]
    return table


def _panel(axes: Axes, probabilities: pd.DataFrame, below: bool, left: bool) -> AxesImage:
    image = axes.imshow(probabilities, vmin=0, vmax=1, cmap="cividis")
    plotting.set_equal_axes(axes)
    places, names = range(len(probabilities)), list(probabilities.index)
    axes.set_xticks(places, names if below else [""] * len(names), rotation=90, fontsize="small")
    axes.set_yticks(places, names if left else [""] * len(names), fontsize="small")
    for i, j in np.argwhere(probabilities.notna().to_numpy()):
        value = float(probabilities.to_numpy()[i, j])
        colour = "black" if value > 0.6 else "white"
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=7)
    return image
