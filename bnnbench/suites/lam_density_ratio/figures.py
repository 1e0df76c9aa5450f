"""Learning curves and posteriors of the sprinkler, drawn from tables and samples, without torch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bnnbench.report.figures.plotting import BLUE, GREY, PALETTE, PlotOptions, legend, new_figure
from bnnbench.suites.lam_density_ratio.names import ESTIMATORS, MEASURES
from bnnbench.suites.lam_density_ratio.sprinkler import log_unnormalised

AXIS = np.linspace(-5.0, 5.0, 300)
"""Points along each side of the square of the thesis's plots of posteriors."""

LEVELS = (0.02, 0.1, 0.25, 0.45, 0.7, 1.0)
"""Contour levels relative to a panel's maximum density."""

EXACT_POSTERIOR = "exact posterior"

EARLY, EARLY_ENLARGED = 0.25, 0.5
"""Initial fractions of the training that are ignored for axis limits, as they dwarf the rest."""

MAX_EXTENSION = 1.0
"""How far an axis is extended down to include minima, in heights of the panel."""

EXACT_STYLE: PlotOptions = {"color": "black", "linewidth": 0.9, "linestyle": (0, (4, 3))}

COLOURS = dict(zip(ESTIMATORS.values(), PALETTE, strict=False))
"""Colours of the three estimators in every figure; other lines take colours in order."""


@dataclass(frozen=True)
class LearningCurves:
    """One panel of learning curves.

    Attributes:
        lines: rows of `curves.csv` by name of the line.
        exact: score of exact posterior draws; not drawn if NaN or infinite.
    """

    lines: Mapping[str, pd.DataFrame]
    exact: float = math.nan


def learning_curves_figure(panels: Mapping[str, LearningCurves], measure: str) -> Figure:
    """Draw a column per panel and a line per configuration: medians over repetitions.

    The average KL has two rows: all iterations on a logarithmic axis, and the last ones enlarged.
    Bands are between the quartiles. Single diverging repetitions affect neither.

    Args:
        panels: by title.
        measure: a key of `MEASURES`.
    """
    enlarged = measure == "average_kl"
    height = 6.4 if enlarged else 3.8
    figure, axes = new_figure(5.6 * len(panels), height, len(panels), 1 + enlarged)
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel.lines))
    colours = {**dict(zip(names, PALETTE, strict=False)), **COLOURS}
    known = [title for title, panel in panels.items() if math.isfinite(panel.exact)]
    for index, (title, panel) in enumerate(panels.items()):
        column = axes[index :: len(panels)]
        for panel_axes in column:
            for name, rows in panel.lines.items():
                draw_median(panel_axes, rows, measure, colours[name], name)
            panel_axes.set(xlabel="posterior iteration", ylabel=f"{MEASURES[measure]} [nats]")
        column[0].set_title(title, fontsize="medium", loc="left")
        medians = [rows.groupby("iteration")[measure].median() for rows in panel.lines.values()]
        column[-1].set_ylim(*limits(medians, EARLY_ENLARGED if enlarged else EARLY))
        if enlarged:
            _set_log_scale(column[0])
        if math.isfinite(panel.exact):
            name = f"exact posterior draws {panel.exact:.4f}" * (title == known[-1])
            for panel_axes in column:
                panel_axes.axhline(panel.exact, label=name, **EXACT_STYLE)
            _include(column[-1], panel.exact)
        note_hidden_range(column[-1], medians)
    legend(figure, axes)
    return figure


def run_figure(curves: pd.DataFrame, exact: Mapping[str, float]) -> Figure:
    """Draw the three measures of one run: a thin line per repetition, and their median.

    Args:
        curves: rows of `curves.csv`.
        exact: known scores of exact posterior draws by measure.
    """
    figure, panels = new_figure(13.5, 4.2, len(MEASURES))
    for axes, (measure, name) in zip(panels, MEASURES.items(), strict=True):
        wide = curves.pivot(index="iteration", columns="repetition", values=measure)
        for index, repetition in enumerate(wide):
            label = "one repetition" if index == 0 else ""
            axes.plot(wide.index, wide[repetition], color=GREY, linewidth=0.5, label=label)
        axes.plot(wide.index, wide.median(axis=1), color=BLUE, linewidth=1.8, label="median")
        axes.set(xlabel="posterior iteration", ylabel=f"{name} [nats]")
        if measure == "average_kl":
            _set_log_scale(axes)
        else:
            lines = [wide[repetition] for repetition in wide]
            axes.set_ylim(*limits(lines))
            note_hidden_range(axes, lines)
        if np.isfinite(exact.get(measure, np.nan)):
            axes.axhline(exact[measure], label="exact posterior draws", **EXACT_STYLE)
    legend(figure, panels[0])
    return figure


def draw_median(axes: Axes, rows: pd.DataFrame, measure: str, colour: str, name: str) -> None:
    """Draw the median over repetitions with a band between the quartiles."""
    by_iteration = rows.groupby("iteration")[measure]
    low, median, high = (by_iteration.quantile(level) for level in (0.25, 0.5, 0.75))
    band: PlotOptions = {"color": colour, "alpha": 0.2, "linewidth": 0}
    axes.fill_between(median.index, low, high, **band)
    axes.plot(median.index, median, color=colour, linewidth=1.4, label=name)


def limits(lines: list[pd.Series], early: float = EARLY) -> tuple[float, float]:
    """Return axis limits for the bulk of all lines after their early part, and their minima.

    Minima more than `MAX_EXTENSION` below the bulk are ignored.

    Args:
        lines: values by iteration.
        early: fraction of the iterations to ignore.
    """
    late = [line[line.index >= early * line.index.max()].dropna() for line in lines]
    pooled = np.concatenate(late)
    if not len(pooled):
        return 0.0, 1.0
    low, high = np.quantile(pooled, (0.01, 0.97))
    minimum = min(float(line.min()) for line in lines if line.notna().any())
    if low - minimum <= MAX_EXTENSION * (high - low):
        low = min(low, minimum)
    margin = 0.1 * (high - low) or 0.1
    return float(low - margin), float(high + margin)


def _set_log_scale(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with plain numbers as tick labels."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _include(axes: Axes, exact: float) -> None:
    """Extend the vertical axis to include the line of exact draws."""
    low, high = axes.get_ylim()
    high = max(high, exact + 0.1 * abs(exact - low))
    axes.set_ylim(min(low, exact - 0.05 * (high - exact)), high)


def note_hidden_range(axes: Axes, lines: list[pd.Series]) -> None:
    """Note above the panel how far lines extend beyond it."""
    (low, high), values = axes.get_ylim(), np.concatenate([line.dropna() for line in lines])
    parts = []
    if len(values) and values.max() > high:
        parts.append(f"up to {values.max():.3g}")
    if len(values) and values.min() < low:
        parts.append(f"down to {values.min():.3g}")
    if parts:
        text = f"beyond the panel: {', '.join(parts)}"
        axes.set_title(text, loc="right", fontsize="small", color=GREY)


def kernel_density(samples: np.ndarray) -> np.ndarray:
    """Return the density of samples `[n, 2]` on the square of `AXIS`, `[z1, z2]`.

    A product of Gaussian kernels with bandwidths `1.06 std n^(-1/6)`, as in the average KL.
    """
    count = len(samples)
    bandwidth = 1.06 * samples.std(0) * count ** (-1 / 6)
    standardised = (AXIS[:, None, None] - samples) / bandwidth  # [points, n, 2]
    kernels = np.exp(-0.5 * standardised**2) / (np.sqrt(2 * np.pi) * bandwidth)
    return np.asarray(kernels[..., 0] @ kernels[..., 1].T) / count


def true_density(x: float) -> np.ndarray:
    """Return the posterior on the square of `AXIS`, `[z1, z2]`, scaled to a maximum of 1."""
    z = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), -1)
    logs = log_unnormalised(x, z)
    return np.asarray(np.exp(logs - logs.max()))


def posteriors_figure(rows: Mapping[str, np.ndarray], observations: Sequence[float]) -> Figure:
    """Draw Figs. 5.1 and 5.4: a row per set of samples and one of the exact posterior.

    Args:
        rows: samples `[x, n, 2]` by name of the row.
        observations: the observations `[x]`, one per column.
    """
    columns, height = len(observations), len(rows) + 1
    figure, panels = new_figure(2.3 * columns + 0.8, 2.3 * height + 0.3, columns, height)
    for row, (name, samples) in enumerate({**rows, EXACT_POSTERIOR: None}.items()):
        row_axes = panels[row * columns : (row + 1) * columns]
        for k, (axes, x) in enumerate(zip(row_axes, observations, strict=True)):
            _draw_density(axes, true_density(x) if samples is None else kernel_density(samples[k]))
            axes.set_title(f"x = {x:g}" if row == 0 else "", fontsize="medium")
        row_axes[0].set_ylabel(f"{name}\nz2 (rain)", fontsize="small")
    for axes in panels[-columns:]:
        axes.set_xlabel("z1 (sprinkler)", fontsize="small")
    return figure


def _draw_density(axes: Axes, density: np.ndarray) -> None:
    scaled = density / density.max()
    axes.contourf(AXIS, AXIS, scaled.T, levels=LEVELS, cmap="Blues", vmin=-0.1)
    axes.contour(AXIS, AXIS, scaled.T, levels=LEVELS[:-1], colors="#333333", linewidths=0.4)
    limits = (AXIS[0], AXIS[-1])
    axes.set(aspect="equal", xlim=limits, ylim=limits)
    axes.tick_params(labelsize="small")
