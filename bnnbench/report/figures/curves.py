"""Predictions along one input: data, true function, mean and bands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import (
    BLUE,
    GREY,
    ORANGE,
    SMALL,
    Look,
    folded,
    legend,
    sketch,
)
from bnnbench.results.curves import Curve


def columns_of(curves: Sequence[Curve]) -> list[str]:
    """The column of panels of each curve: its data set, and its depth where depths differ."""
    deep = len({str(curve.run["depth"]) for curve in curves}) > 1
    form = "{dataset} · depth {depth}" if deep else "{dataset}"
    return [form.format(**curve.run) for curve in curves]


def draw_curve(axes: Axes, curve: Curve) -> None:
    """Data, truth, predictive mean, and bands of two deviations, epistemic inside total."""
    grid = curve.grid
    x, mean = grid["input"], grid["mean"]
    epistemic = 2 * np.sqrt(grid["epistemic_variance"])
    total = 2 * curve.deviation
    band: Look = {"linewidth": 0}
    axes.fill_between(x, mean - total, mean + total, color="#D5E7F4", label="± 2 total", **band)
    axes.fill_between(
        x, mean - epistemic, mean + epistemic, color="#8FC1E3", label="± 2 epistemic", **band
    )
    axes.plot(x, grid["truth"], color=GREY, linewidth=1, linestyle="--", label="true function")
    axes.plot(x, mean, color=BLUE, linewidth=1.5, label="predictive mean")
    axes.plot(
        curve.training["input"],
        curve.training["target"],
        ".",
        color=ORANGE,
        markersize=3,
        label="training data",
    )
    # Outside the data a band may explode; what is true and what was seen set the scale.
    seen = pd.concat([curve.training["target"], grid["truth"]])
    margin = 0.35 * np.ptp(seen)
    axes.set(xlim=(x.min(), x.max()), ylim=(seen.min() - margin, seen.max() + margin))


def curves_figure(curves: Sequence[Curve], title: str = "") -> Figure:
    """A panel per run: a row per label, a column per data set and depth.

    Book, Figs. 4.12 and 4.13; GVI thesis, Figs. 5.8, 5.9 and 7.2.

    Args:
        curves: of one run or more.
        title: what the figure is of.
    """
    rows = list(dict.fromkeys(str(curve.run["label"]) for curve in curves))
    standing = columns_of(curves)
    columns = list(dict.fromkeys(standing))
    heads = {folded(f"{row} · {column}", 3.0, SMALL) for row in rows for column in columns}
    high = 2.0 + 0.15 * max(head.count("\n") for head in heads)
    size = max(5.5, 3.6 * len(columns) + 0.4), high * len(rows) + 0.8
    figure, panels = sketch(*size, len(columns), len(rows))
    for axes in panels:
        axes.set_visible(False)
    for curve, place in zip(curves, standing, strict=True):
        row, column = rows.index(str(curve.run["label"])), columns.index(place)
        axes = panels[row * len(columns) + column]
        axes.set_visible(True)
        draw_curve(axes, curve)
        head = folded(f"{rows[row]} · {columns[column]}", 3.0, SMALL)
        axes.set_title(head, fontsize="small", parse_math=False)
    figure.supxlabel("x", fontsize="small")
    figure.supylabel("y", fontsize="small")
    shown = [axes for axes in panels if axes.get_visible()]
    legend(figure, shown, columns=5, title=title)
    return figure
