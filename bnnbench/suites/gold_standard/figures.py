"""Who is nearest to the posterior, and whether test scores would have told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from bnnbench.report.figures.canvas import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    Look,
    inches,
    legend,
    sketch,
)
from bnnbench.report.figures.time_against_score import MARKS
from bnnbench.results.metrics import Metric
from bnnbench.suites.gold_standard.comparison import LOG_LIKELIHOOD, Comparison
from bnnbench.suites.gold_standard.verdicts import TIMES, W1, order

NAME = 8
"""Points of the names of methods."""

FARTHEST = 100
"""Times the nearest distance that a panel reaches; of what lies beyond a number is written."""


def means_and_errors(found: Comparison, metric: Metric) -> pd.DataFrame:
    """`mean` and standard error `stderr` over splits by run; no error of a single split is 0."""
    groups = found.methods.groupby("run", sort=False)[metric.key]
    return pd.DataFrame({"mean": groups.mean(), "stderr": groups.sem().fillna(0.0)})


def nearest_figure(every: Sequence[Comparison]) -> Figure:
    """A panel per data set, the nearest run on top, and the distance between halves of chains.

    Args:
        every: comparisons with a run beside their reference.
    """
    columns = min(3, len(every))
    rows = math.ceil(len(every) / columns)
    names = [found.names[str(run)] for found in every for run in order(found, W1).index]
    longest = max(inches(name, NAME) for name in names)
    most = max(len(order(found, W1)) for found in every)
    size = (2.7 + longest) * columns + 0.3, (0.21 * most + 0.9) * rows + 0.7
    figure, panels = sketch(*size, columns, rows)
    for axes, found in zip(panels, every, strict=False):
        _distances(axes, found)
    for axes in panels[len(every) :]:
        axes.set_visible(False)
    figure.supxlabel("W1 to the posterior, standard deviations of the target", fontsize="medium")
    legend(figure, panels[: len(every)], columns=3, title="mean ± standard error over splits")
    return figure


def _distances(axes: Axes, found: Comparison) -> None:
    table = means_and_errors(found, W1).loc[order(found, W1).index]
    floor = float(found.floor[W1.key].mean())
    most = FARTHEST * table["mean"].iloc[0]
    places = np.arange(len(table))
    inside = (table["mean"] <= most).to_numpy()
    error: Look = {"fmt": "o", "color": BLUE, "markersize": 4, "capsize": 2}
    # Below zero a logarithmic axis has no place.
    below = np.minimum(table["stderr"], 0.9 * table["mean"])
    bars = np.stack([below, table["stderr"]])[:, inside]
    axes.errorbar(
        table["mean"][inside], places[inside], xerr=bars, label="an approximation", **error
    )
    for place, mean in zip(places[~inside], table["mean"][~inside], strict=True):
        axes.text(most, place, f"{mean:.2g} →", ha="right", va="center", fontsize=7, color=GREY)
    axes.axvline(floor, color=ORANGE, label="halves of the chains")
    axes.axvline(TIMES * floor, color=ORANGE, linestyle=":", label=f"{TIMES} times as much")
    _logarithmic(axes)
    axes.set_yticks(places, [found.names[str(run)] for run in table.index], fontsize=NAME)
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.set_title(found.dataset, fontsize="medium", parse_math=False)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)


def scores_figure(every: Sequence[Comparison]) -> Figure:
    """Log-likelihood against W1, a panel per data set: test scores and inference side by side.

    Args:
        every: comparisons with a run beside their reference.
    """
    columns = min(3, len(every))
    rows = math.ceil(len(every) / columns)
    figure, panels = sketch(max(5.5, 3.6 * columns + 0.4), 3.0 * rows + 1.2, columns, rows)
    names = sorted({found.names[run] for found in every for run in found.methods["run"]})
    looks: dict[str, Look] = {
        name: {"color": PALETTE[k % len(PALETTE)], "marker": MARKS[k // len(PALETTE) % len(MARKS)]}
        for k, name in enumerate(names)
    }
    for name, look in looks.items():
        panels[0].plot([], [], label=name, linestyle="none", **look)
    for axes, found in zip(panels, every, strict=False):
        _scores(axes, found, looks)
    for axes in panels[len(every) :]:
        axes.set_visible(False)
    figure.supxlabel("W1 to the posterior (left is nearer)", fontsize="medium")
    figure.supylabel(f"{LOG_LIKELIHOOD.axis}, higher is better", fontsize="medium")
    legend(figure, panels[: len(every)], columns=5, title="mean ± standard error over splits")
    return figure


def _scores(axes: Axes, found: Comparison, looks: Mapping[str, Look]) -> None:
    x, y = (means_and_errors(found, metric) for metric in (W1, LOG_LIKELIHOOD))
    shown = x.index[np.isfinite(x["mean"]) & np.isfinite(y["mean"])]
    own = float(found.floor[LOG_LIKELIHOOD.key].mean())
    axes.axhline(own, color=GREY, linewidth=1, label="the posterior itself")
    # Some may be lost altogether; the bulk sets the scale.
    bulk = np.append(y.loc[shown, "mean"].to_numpy(), own)
    low, high = np.quantile(bulk, 0.25), bulk.max()
    least = max(bulk.min(), low - 3 * (high - low))
    margin = 0.12 * (high - least) or 0.1
    axes.set_ylim(least - margin, high + margin)
    for run in shown:
        look, (across, spread) = looks[found.names[str(run)]], x.loc[run, ["mean", "stderr"]]
        up, error = y.loc[run, ["mean", "stderr"]]
        if up < least:
            axes.plot(across, least, linestyle="none", **look)
            label = f"{up:.3g} ↓"
            axes.text(across, least - margin / 2, label, ha="right", fontsize=7, color=GREY)
            continue
        bars = [[min(spread, 0.9 * across)], [spread]]
        axes.errorbar(across, up, error, bars, elinewidth=0.8, markersize=5, **look)
    _logarithmic(axes)
    axes.set_title(found.dataset, fontsize="medium", parse_math=False)


def _logarithmic(axes: Axes) -> None:
    """Distances on a logarithmic axis with plain numbers: three in a decade, or one of many."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    decades = math.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < 1 else (1.0, 3.0) if decades < 2.5 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
