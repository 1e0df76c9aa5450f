"""The figures of a run, in the style of the book's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    PlotOptions,
    legend,
    new_figure,
)
from bnnbench.suites.inference_toys.kl_shapes.mixture import Mixture, log_normal
from bnnbench.suites.inference_toys.kl_shapes.names import FORWARD, NEAR_LIMIT, ORDER_NAMES, REVERSE
from bnnbench.suites.inference_toys.kl_shapes.saved_run import (
    KLShapesRun,
    read_run,
)

EXACT: PlotOptions = {"color": BLUE, "linewidth": 1.8}

STYLES: dict[float, PlotOptions] = {
    FORWARD: {"color": PALETTE[2], "linestyle": "--", "linewidth": 1.6},
    REVERSE: {"color": ORANGE, "linestyle": ":", "linewidth": 2.0},
}

MAX_ROWS = 4
"""Maximum number of rows of a figure."""

FIGURE_ORDERS = (-8.0, -1.0, 0.0, 1.0, 8.0)
"""Orders plotted as in the book's Fig. 3.12, if the run has them."""


def directions_figure(folder: RunFolder) -> Figure:
    """Plot the book's Fig. 3.9: p, and the best q in each direction of KL."""
    run = read_run(folder)
    kinds = _kinds(run.fits)
    separations = _first_middle_last(sorted(run.fits["separation"].unique()))
    columns = len(separations)
    figure, panels = new_figure(2.9 * columns, 1.6 * len(kinds) + 0.5, columns, len(kinds))
    for i, (weight, scale) in enumerate(kinds):
        for j, separation in enumerate(separations):
            axes = panels[i * columns + j]
            _draw_directions(axes, run, Mixture(separation, weight, scale))
            axes.set_ylabel("density" if j == 0 else "")
            axes.set_xlabel("x" if i == len(kinds) - 1 else "")
    legend(figure, panels[-1])
    return figure


def orders_figure(folder: RunFolder) -> Figure:
    """Plot the book's Fig. 3.12: the best q by order."""
    run = read_run(folder)
    kinds = _kinds(run.fits)
    orders = [order for order in FIGURE_ORDERS if len(run.best_at(order))]
    separations = _first_middle_last(sorted(run.fits["separation"].unique()))
    separation = separations[len(separations) // 2]
    figure, panels = new_figure(2.0 * len(orders), 1.5 * len(kinds) + 0.5, len(orders), len(kinds))
    for i, (weight, scale) in enumerate(kinds):
        p = Mixture(separation, weight, scale)
        for j, order in enumerate(orders):
            axes = panels[i * len(orders) + j]
            grid = _draw_mixture(axes, p, fill=True)
            row = _row_of(run.best_at(order), p)
            axes.plot(grid, _density(grid, row), color=ORANGE, linewidth=1.6, label="best q")
            if i == 0:
                name = f"\n{ORDER_NAMES[order]}" if order in ORDER_NAMES else "\n"
                axes.set_title(f"alpha = {order:g}{name}", fontsize="medium")
            axes.set_ylabel(p.name.replace(" + ", "\n+ ") if j == 0 else "", fontsize="small")
            axes.set_xlabel("x" if i == len(kinds) - 1 else "")
            axes.set_ylim(0, None)
    legend(figure, panels[-1])
    return figure


def widths_figure(folder: RunFolder) -> Figure:
    """Plot the standard deviation of the best q against the order, one line per separation."""
    run = read_run(folder)
    kinds = _kinds(run.fits)
    figure, panels = new_figure(2.7 * len(kinds) + 0.4, 3.2, len(kinds))
    separations = sorted(run.fits["separation"].unique())
    for axes, (weight, scale) in zip(panels, kinds, strict=True):
        of_kind = (run.best["weight"] == weight) & (run.best["component_scale"] == scale)
        rows = run.best[of_kind & (run.best["order"].abs() != NEAR_LIMIT)].sort_values("order")
        for index, separation in enumerate(separations):
            selected = rows[rows["separation"] == separation]
            style: PlotOptions = {"color": PALETTE[index % len(PALETTE)], "markersize": 4}
            axes.plot(
                selected["order"],
                selected["scale"],
                "o-",
                **style,
                linewidth=1,
                label=f"d = {separation:g}",
            )
            at_bound = selected[selected["at_bound"] == 1]
            axes.plot(at_bound["order"], at_bound["scale"], "o", **style, markerfacecolor="white")
        for order in (REVERSE, FORWARD):
            axes.axvline(order, color=GREY, linewidth=0.6, linestyle=":")
        axes.set_title(_kind_name(weight, scale), fontsize="medium")
        axes.set_xlabel("order alpha")
        axes.set_ylim(0, None)
    panels[0].plot(
        [],
        [],
        "o",
        color=GREY,
        markerfacecolor="white",
        label="largest scale with a finite divergence",
    )
    panels[0].set_ylabel("standard deviation of the best q")
    legend(figure, panels[0], columns=len(separations) + 1)
    return figure


def factorised_figure(folder: RunFolder) -> Figure:
    """Plot the best factorised Gaussians for two correlated variables, and coordinate ascent."""
    run = read_run(folder)
    figure, (left, right) = new_figure(8.6, 4.2, 2)
    correlation = float(run.factorised["correlation"].iloc[0])
    _draw_ellipses(left, run, correlation)
    excess = run.steps["reverse_kl"] + 0.5 * np.log1p(-(correlation**2))
    right.plot(
        run.steps["step"] / 2, excess.clip(lower=1e-16), color=ORANGE, marker="o", markersize=3
    )
    right.set_yscale("log")
    right.set(xlabel="sweeps over both factors", ylabel="KL(q || p) above its minimum [nats]")
    right.set_title("coordinate ascent converges linearly", fontsize="medium")
    left.legend(loc="upper left", fontsize="small", frameon=False)
    return figure


def _draw_directions(axes: Axes, run: KLShapesRun, p: Mixture) -> None:
    grid = _draw_mixture(axes, p)
    for order, style in STYLES.items():
        row = _row_of(run.best_at(order), p)
        axes.plot(grid, _density(grid, row), label=f"best q, {ORDER_NAMES[order]}", **style)
    others = run.fits[(run.fits["order"] == REVERSE) & (run.fits["rank"] > 0)]
    label = "other local optima of reverse KL"
    for _, row in others[others["mixture"] == p.name].iterrows():
        style = {**STYLES[REVERSE], "linewidth": 0.9, "alpha": 0.6}
        axes.plot(grid, _density(grid, row), label=label, **style)
        label = "_again"
    axes.set_title(p.name, fontsize="small")
    axes.set_ylim(0, None)


def _draw_mixture(axes: Axes, p: Mixture, fill: bool = False) -> np.ndarray:
    """Draw p and return the grid of its panel."""
    half_width = p.separation + 3.3 * p.max_scale
    grid = np.linspace(-half_width, half_width, 400)
    density = np.exp(p.log_density(grid))
    axes.plot(grid, density, label="p", **EXACT)
    if fill:
        axes.fill_between(grid, density, color=BLUE, alpha=0.15, linewidth=0)
    return grid


def _draw_ellipses(axes: Axes, run: KLShapesRun, correlation: float) -> None:
    """Draw the 1 and 2 standard deviation contours, and the trajectory of the mean."""
    major, minor = np.sqrt([1 + correlation, 1 - correlation])
    variances = run.factorised.set_index("divergence")["variance"]
    for multiple in (1, 2):
        name = "p" if multiple == 2 else "_inner"
        size = {"width": 2 * multiple * major, "height": 2 * multiple * minor, "angle": 45.0}
        axes.add_patch(_ellipse(size, EXACT, name))
        for order, style in STYLES.items():
            diameter = 2 * multiple * float(np.sqrt(variances[ORDER_NAMES[order]]))
            label = f"best factorised q, {ORDER_NAMES[order]}" if multiple == 2 else "_inner"
            axes.add_patch(_ellipse({"width": diameter, "height": diameter}, style, label))
    trajectory = run.steps
    axes.plot(
        trajectory["loc_1"],
        trajectory["loc_2"],
        color=GREY,
        marker=".",
        linewidth=0.8,
        label="mean of q, coordinate ascent",
    )
    axes.set(xlim=(-3, 3), ylim=(-3, 4.6), xlabel="$z_1$", ylabel="$z_2$", aspect="equal")
    axes.set_title(f"correlation {correlation:g}; 1 and 2 standard deviations", fontsize="medium")


def _ellipse(size: dict[str, Any], style: PlotOptions, label: str) -> Ellipse:
    return Ellipse((0, 0), **size, fill=False, label=label, **style)


def _kinds(fits: pd.DataFrame) -> list[tuple[float, float]]:
    """Return weight and scale of the first kinds of mixtures, ignoring separations."""
    kinds = fits[["weight", "component_scale"]].drop_duplicates().to_numpy()[:MAX_ROWS]
    return [(float(weight), float(scale)) for weight, scale in kinds]


def _kind_name(weight: float, scale: float) -> str:
    return Mixture(1.0, weight, scale).name.replace("-1,", "-d,").replace("N(1,", "N(d,")


def _first_middle_last(values: list[float]) -> list[float]:
    """Return the first, the middle and the last value, without duplicates."""
    return [float(v) for v in dict.fromkeys([values[0], values[len(values) // 2], values[-1]])]


def _row_of(rows: pd.DataFrame, p: Mixture) -> pd.Series:
    return rows[rows["mixture"] == p.name].iloc[0]


def _density(grid: np.ndarray, row: pd.Series) -> np.ndarray:
    return np.exp(log_normal(grid, float(row["loc"]), float(row["scale"])))
