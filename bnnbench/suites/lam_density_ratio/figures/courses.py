"""How training goes: average KL, estimator loss and NELBO against the posterior's iterations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bnnbench.report.figures.canvas import BLUE, GREY, PALETTE, Look, legend, sketch

MEASURES = {
    "average_kl": "average KL [nats]",
    "estimator_loss": "estimator loss [nats]",
    "nelbo": "NELBO [nats]",
}
"""Columns of `curves.csv`, and what stands at their axes."""

EARLY, ENLARGED = 0.25, 0.5
"""Shares of a training whose values set no scale, since they dwarf all others."""

DEEPER = 1.0
"""Heights of a panel: how much further down it reaches to where lines are least."""

FLOOR: Look = {"color": "black", "linewidth": 0.9, "linestyle": (0, (4, 3))}

COLOURS = dict(zip(("D", "r", "T"), PALETTE, strict=False))
"""Of the three estimators, in every figure; other lines take the colours in their order."""


@dataclass(frozen=True)
class Panel:
    """One panel of a figure.

    Attributes:
        lines: rows of `curves.csv`, by what the line is called.
        exact: what exact posterior draws score; NaN or infinite where nothing is drawn.
    """

    lines: Mapping[str, pd.DataFrame]
    exact: float = math.nan


def courses_figure(panels: Mapping[str, Panel], measure: str) -> Figure:
    """A column per panel of the thesis, a line per configuration: means over repetitions.

    The average KL has two rows, everything on a logarithmic axis and the end enlarged. Bands are a
    standard error of the mean to each side.

    Args:
        panels: by title.
        measure: a key of `MEASURES`.
    """
    enlarged = measure == "average_kl"
    figure, axes = sketch(5.6 * len(panels), 6.4 if enlarged else 3.8, len(panels), 1 + enlarged)
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel.lines))
    colours = {**dict(zip(names, PALETTE, strict=False)), **COLOURS}
    known = [title for title, panel in panels.items() if math.isfinite(panel.exact)]
    for place, (title, panel) in enumerate(panels.items()):
        column = axes[place :: len(panels)]
        for one in column:
            for name, rows in panel.lines.items():
                draw_mean(one, rows, measure, colours[name], name)
            one.set(xlabel="posterior iteration", ylabel=MEASURES[measure])
        column[0].set_title(title, fontsize="medium", loc="left")
        means = [_means(rows, measure) for rows in panel.lines.values()]
        column[-1].set_ylim(*limits(means, ENLARGED if enlarged else EARLY))
        if enlarged:
            _logarithmic(column[0])
        if math.isfinite(panel.exact):
            name = f"exact posterior draws {panel.exact:.4f}" * (title == known[-1])  # named last
            for one in column:
                one.axhline(panel.exact, label=name, **FLOOR)
            _make_room(column[-1], panel.exact)
        _beyond(column[-1], means)
    legend(figure, axes)
    return figure


def run_figure(curves: pd.DataFrame, exact: Mapping[str, float]) -> Figure:
    """The three measures of one run: a thin line per repetition, and their mean.

    Args:
        curves: rows of `curves.csv`.
        exact: what exact posterior draws score, by measure, where that is known.
    """
    figure, panels = sketch(13.5, 4.2, len(MEASURES))
    for axes, (measure, name) in zip(panels, MEASURES.items(), strict=True):
        wide = curves.pivot(index="iteration", columns="repetition", values=measure)
        for place, repetition in enumerate(wide):
            label = "one repetition" if place == 0 else ""
            axes.plot(wide.index, wide[repetition], color=GREY, linewidth=0.5, label=label)
        axes.plot(wide.index, wide.mean(axis=1), color=BLUE, linewidth=1.8, label="mean")
        axes.set(xlabel="posterior iteration", ylabel=name)
        if measure == "average_kl":
            _logarithmic(axes)
        else:
            lines = [wide[repetition] for repetition in wide]
            axes.set_ylim(*limits(lines))
            _beyond(axes, lines)
        if np.isfinite(exact.get(measure, np.nan)):
            axes.axhline(exact[measure], label="exact posterior draws", **FLOOR)
    legend(figure, panels[0])
    return figure


def draw_mean(axes: Axes, rows: pd.DataFrame, measure: str, colour: str, name: str) -> None:
    """Mean over repetitions and a band of its standard error."""
    by_iteration = rows.groupby("iteration")[measure]
    mean, error = by_iteration.mean(), by_iteration.sem().fillna(0)
    band: Look = {"color": colour, "alpha": 0.2, "linewidth": 0}
    axes.fill_between(mean.index, mean - error, mean + error, **band)
    axes.plot(mean.index, mean, color=colour, linewidth=1.4, label=name)


def _means(rows: pd.DataFrame, measure: str) -> pd.Series:
    return rows.groupby("iteration")[measure].mean()


def limits(lines: list[pd.Series], early: float = EARLY) -> tuple[float, float]:
    """Of an axis that shows the bulk of all lines after their first part, and where they are least.

    Unless that is far below, as a start may be.

    Args:
        lines: values by iteration.
        early: the share that is the first part.
    """
    late = [line[line.index >= early * line.index.max()].dropna() for line in lines]
    pooled = np.concatenate(late) if late else np.zeros(1)
    if not len(pooled):
        return 0.0, 1.0
    low, high = np.quantile(pooled, (0.01, 0.97))
    least = min(float(line.min()) for line in lines if line.notna().any())
    if low - least <= DEEPER * (high - low):
        low = min(low, least)
    margin = 0.1 * (high - low) or 0.1
    return float(low - margin), float(high + margin)


def _logarithmic(axes: Axes) -> None:
    """Makes the vertical axis logarithmic, its ticks plain numbers."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _make_room(axes: Axes, exact: float) -> None:
    """Keeps the line of exact draws in the panel."""
    low, high = axes.get_ylim()
    high = max(high, exact + 0.1 * abs(exact - low))
    axes.set_ylim(min(low, exact - 0.05 * (high - exact)), high)


def _beyond(axes: Axes, lines: list[pd.Series]) -> None:
    """Says above the panel how far lines reach that it does not hold."""
    (low, high), values = axes.get_ylim(), np.concatenate([line.dropna() for line in lines])
    parts = []
    if len(values) and values.max() > high:
        parts.append(f"up to {values.max():.3g}")
    if len(values) and values.min() < low:
        parts.append(f"down to {values.min():.3g}")
    if parts:
        text = f"beyond the panel: {', '.join(parts)}"
        axes.set_title(text, loc="right", fontsize="x-small", color=GREY)
