"""Figures of distances to the posterior, alone and against test scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    SMALL_POINTS,
    PlotOptions,
    legend,
    marker_styles,
    small_multiples,
    text_width,
)
from bnnbench.results.metric_table import Metric
from bnnbench.suites.gold_standard.comparison import LOG_LIKELIHOOD, Comparison
from bnnbench.suites.gold_standard.verdicts import MIN_DISTANCE_RATIO, W1, sorted_means

MAX_DISTANCE_RATIO = 100
"""Upper limit of a panel relative to the smallest distance. Larger values are printed."""

BEYOND: PlotOptions = {"ha": "right", "fontsize": "small", "color": GREY}
"""Style of values beyond a panel."""


def means_and_errors(comparison: Comparison, metric: Metric) -> pd.DataFrame:
    """`mean` and `stderr` over splits by run. The standard error of a single split is set to 0."""
    groups = comparison.methods.groupby("run", sort=False)[metric.key]
    return pd.DataFrame({"mean": groups.mean(), "stderr": groups.sem().fillna(0.0)})


def nearest_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Draw a panel per data set, closest run first, with the distance between chain halves."""
    means = [sorted_means(comparison, W1) for comparison in comparisons]
    names = [
        c.names[str(run)] for c, own in zip(comparisons, means, strict=True) for run in own.index
    ]
    longest, most = max(text_width(name, SMALL_POINTS) for name in names), max(map(len, means))
    figure, panels = small_multiples(
        len(comparisons), 3, (2.7 + longest, 0.21 * most + 0.9), (0.3, 0.7)
    )
    for axes, comparison in zip(panels, comparisons, strict=True):
        _distances(axes, comparison)
    figure.supxlabel("W1 to the posterior, standard deviations of the target", fontsize="medium")
    legend(figure, panels, columns=3, title="mean ± standard error over splits")
    return figure


def _distances(axes: Axes, comparison: Comparison) -> None:
    table = means_and_errors(comparison, W1).loc[sorted_means(comparison, W1).index]
    halves = float(comparison.chain_halves[W1.key].mean())
    upper_limit = MAX_DISTANCE_RATIO * table["mean"].iloc[0]
    positions = np.arange(len(table))
    inside = (table["mean"] <= upper_limit).to_numpy()
    error: PlotOptions = {"fmt": "o", "color": BLUE, "markersize": 4, "capsize": 2}
    # Keep error bars positive on the logarithmic axis.
    below = np.minimum(table["stderr"], 0.9 * table["mean"])
    bars = np.stack([below, table["stderr"]])[:, inside]
    axes.errorbar(
        table["mean"][inside], positions[inside], xerr=bars, label="approximation", **error
    )
    for position, mean in zip(positions[~inside], table["mean"][~inside], strict=True):
        axes.text(upper_limit, position, f"{mean:.2g} →", va="center", **BEYOND)
    axes.axvline(halves, color=ORANGE, label="between halves of the chains")
    axes.axvline(
        MIN_DISTANCE_RATIO * halves,
        color=ORANGE,
        linestyle=":",
        label=f"{MIN_DISTANCE_RATIO} times that",
    )
    _logarithmic(axes)
    axes.set_yticks(
        positions, [comparison.names[str(run)] for run in table.index], fontsize=SMALL_POINTS
    )
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.set_title(comparison.dataset, fontsize="medium", parse_math=False)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)


def scores_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Draw log-likelihood against W1 with a panel per data set."""
    figure, panels = small_multiples(len(comparisons), 3, (3.6, 3.0), (0.4, 1.2), 5.5)
    names = {
        comparison.names[run] for comparison in comparisons for run in comparison.methods["run"]
    }
    styles = marker_styles(panels[0], sorted(names))
    for axes, comparison in zip(panels, comparisons, strict=True):
        _scores(axes, comparison, styles)
    figure.supxlabel("W1 to the posterior, lower is better", fontsize="medium")
    figure.supylabel(f"{LOG_LIKELIHOOD.axis}, higher is better", fontsize="medium")
    legend(figure, panels, columns=5, title="mean ± standard error over splits")
    return figure


def _scores(axes: Axes, comparison: Comparison, styles: Mapping[str, PlotOptions]) -> None:
    x, y = (means_and_errors(comparison, metric) for metric in (W1, LOG_LIKELIHOOD))
    finite = x.index[np.isfinite(x["mean"]) & np.isfinite(y["mean"])]
    reference_score = float(comparison.chain_halves[LOG_LIKELIHOOD.key].mean())
    axes.axhline(reference_score, color=GREY, linewidth=1, label="reference chains")
    # Set the scale by the bulk of the runs, because some scores may be extremely low.
    bulk = np.append(y.loc[finite, "mean"].to_numpy(), reference_score)
    low, high = np.quantile(bulk, 0.25), bulk.max()
    lower_limit = max(bulk.min(), low - 3 * (high - low))
    margin = 0.12 * (high - lower_limit) or 0.1
    axes.set_ylim(lower_limit - margin, high + margin)
    for run in finite:
        style, (distance, spread) = (
            styles[comparison.names[str(run)]],
            x.loc[run, ["mean", "stderr"]],
        )
        score, error = y.loc[run, ["mean", "stderr"]]
        if score < lower_limit:
            axes.plot(distance, lower_limit, linestyle="none", **style)
            label = f"{score:.3g} ↓"
            axes.text(distance, lower_limit - margin / 2, label, **BEYOND)
            continue
        bars = [[min(spread, 0.9 * distance)], [spread]]
        axes.errorbar(distance, score, error, bars, elinewidth=0.8, markersize=5, **style)
    _logarithmic(axes)
    axes.set_title(comparison.dataset, fontsize="medium", parse_math=False)


def _logarithmic(axes: Axes) -> None:
    """Set a logarithmic x axis with plain tick labels, one to three per decade."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    decades = math.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < 1 else (1.0, 3.0) if decades < 2.5 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
