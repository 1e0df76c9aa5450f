"""The figures of a run, in the manner of the book's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.canvas import BLUE, GREY, ORANGE, PALETTE, Look, legend, sketch
from bnnbench.suites.inference_toys.kl_shapes.findings import (
    Findings,
    read_findings,
)
from bnnbench.suites.inference_toys.kl_shapes.mixture import Mixture, log_normal
from bnnbench.suites.inference_toys.kl_shapes.tables import FORWARD, NAMES, NEAR, REVERSE

EXACT: Look = {"color": BLUE, "linewidth": 1.8}

LOOKS: dict[float, Look] = {
    FORWARD: {"color": PALETTE[2], "linestyle": "--", "linewidth": 1.6},
    REVERSE: {"color": ORANGE, "linestyle": ":", "linewidth": 2.0},
}

MOST_ROWS = 4
"""Kinds of mixtures that a figure has room for."""

SHOWN_ORDERS = (-8.0, -1.0, 0.0, 1.0, 8.0)
"""As many as the book's Fig. 3.12 has room for, where the run has them."""


def directions_figure(folder: RunFolder) -> Figure:
    """The book's Fig. 3.9, a row per kind of mixture: p, and the best q in each direction of KL."""
    found = read_findings(folder)
    kinds = _kinds(found.fits)
    separations = _three(sorted(found.fits["separation"].unique()))
    columns = len(separations)
    figure, panels = sketch(2.9 * columns, 1.6 * len(kinds) + 0.5, columns, len(kinds))
    for i, (share, scale) in enumerate(kinds):
        for j, separation in enumerate(separations):
            axes = panels[i * columns + j]
            _draw_directions(axes, found, Mixture(separation, share, scale))
            axes.set_ylabel("density" if j == 0 else "")
            axes.set_xlabel("x" if i == len(kinds) - 1 else "")
    legend(figure, panels[-1])
    return figure


def orders_figure(folder: RunFolder) -> Figure:
    """The book's Fig. 3.12: the best q by order, a row per kind of mixture."""
    found = read_findings(folder)
    kinds = _kinds(found.fits)
    orders = [order for order in SHOWN_ORDERS if len(found.best_at(order))]
    separations = _three(sorted(found.fits["separation"].unique()))
    separation = separations[len(separations) // 2]
    figure, panels = sketch(2.0 * len(orders), 1.5 * len(kinds) + 0.5, len(orders), len(kinds))
    for i, (share, scale) in enumerate(kinds):
        p = Mixture(separation, share, scale)
        for j, order in enumerate(orders):
            axes = panels[i * len(orders) + j]
            grid = _draw_mixture(axes, p, fill=True)
            row = _row(found.best_at(order), p)
            axes.plot(grid, _density(grid, row), color=ORANGE, linewidth=1.6, label="best q")
            if i == 0:
                name = f"\n{NAMES[order]}" if order in NAMES else "\n"
                axes.set_title(f"alpha = {order:g}{name}", fontsize="medium")
            axes.set_ylabel(p.name.replace(" + ", "\n+ ") if j == 0 else "", fontsize="small")
            axes.set_xlabel("x" if i == len(kinds) - 1 else "")
            axes.set_ylim(0, None)
    legend(figure, panels[-1])
    return figure


def widths_figure(folder: RunFolder) -> Figure:
    """The standard deviation of the best q against the order, a line per separation."""
    found = read_findings(folder)
    kinds = _kinds(found.fits)
    figure, panels = sketch(2.7 * len(kinds) + 0.4, 3.2, len(kinds))
    separations = sorted(found.fits["separation"].unique())
    for axes, (share, scale) in zip(panels, kinds, strict=True):
        of_kind = (found.best["share"] == share) & (found.best["scale_of_part"] == scale)
        rows = found.best[of_kind & (found.best["order"].abs() != NEAR)].sort_values("order")
        for place, separation in enumerate(separations):
            own = rows[rows["separation"] == separation]
            look: Look = {"color": PALETTE[place % len(PALETTE)], "markersize": 4}
            axes.plot(
                own["order"], own["scale"], "o-", **look, linewidth=1, label=f"d = {separation:g}"
            )
            edge = own[own["at_edge"] == 1]
            axes.plot(edge["order"], edge["scale"], "o", **look, markerfacecolor="white")
        for order in (REVERSE, FORWARD):
            axes.axvline(order, color=GREY, linewidth=0.6, linestyle=":")
        axes.set_title(_kind_name(share, scale), fontsize="medium")
        axes.set_xlabel("order alpha")
        axes.set_ylim(0, None)
    panels[0].plot([], [], "o", color=GREY, markerfacecolor="white", label="as wide as can be")
    panels[0].set_ylabel("deviation of the best q")
    legend(figure, panels[0], columns=len(separations) + 1)
    return figure


def factorised_figure(folder: RunFolder) -> Figure:
    """What factorised Gaussians make of two correlated variables, and the way there."""
    found = read_findings(folder)
    figure, (left, right) = sketch(8.6, 4.2, 2)
    correlation = float(found.factorised["correlation"].iloc[0])
    _draw_ellipses(left, found, correlation)
    excess = found.steps["reverse_kl"] + 0.5 * np.log1p(-(correlation**2))
    right.plot(
        found.steps["step"] / 2, excess.clip(lower=1e-16), color=ORANGE, marker="o", markersize=3
    )
    right.set_yscale("log")
    right.set(xlabel="sweeps over both factors", ylabel="KL(q || p) above its least value [nats]")
    right.set_title("coordinate ascent converges linearly", fontsize="medium")
    left.legend(loc="upper left", fontsize="small", frameon=False)
    return figure


def _draw_directions(axes: Axes, found: Findings, p: Mixture) -> None:
    grid = _draw_mixture(axes, p)
    for order, look in LOOKS.items():
        row = _row(found.best_at(order), p)
        axes.plot(grid, _density(grid, row), label=f"best q, {NAMES[order]}", **look)
    others = found.fits[(found.fits["order"] == REVERSE) & (found.fits["rank"] > 0)]
    label = "other local optima of reverse KL"
    for _, row in others[others["mixture"] == p.name].iterrows():
        look = {**LOOKS[REVERSE], "linewidth": 0.9, "alpha": 0.6}
        axes.plot(grid, _density(grid, row), label=label, **look)
        label = "_again"
    axes.set_title(p.name, fontsize="small")
    axes.set_ylim(0, None)


def _draw_mixture(axes: Axes, p: Mixture, fill: bool = False) -> np.ndarray:
    """Draws p and returns the points of its panel."""
    reach = 3.3 * p.widest
    grid = np.linspace(-p.separation - reach, p.separation + reach, 400)
    density = np.exp(p.log_density(grid))
    axes.plot(grid, density, label="p", **EXACT)
    if fill:
        axes.fill_between(grid, density, color=BLUE, alpha=0.15, linewidth=0)
    return grid


def _draw_ellipses(axes: Axes, found: Findings, correlation: float) -> None:
    """The lines that one and two standard deviations away enclose, and the way of the mean."""
    wide, narrow = np.sqrt([1 + correlation, 1 - correlation])
    variances = found.factorised.set_index("divergence")["variance"]
    for deviations in (1, 2):
        name = "p" if deviations == 2 else "_inner"
        size = {"width": 2 * deviations * wide, "height": 2 * deviations * narrow, "angle": 45.0}
        axes.add_patch(_ring(size, EXACT, name))
        for order, look in LOOKS.items():
            side = 2 * deviations * float(np.sqrt(variances[NAMES[order]]))
            label = f"best factorised q, {NAMES[order]}" if deviations == 2 else "_inner"
            axes.add_patch(_ring({"width": side, "height": side}, look, label))
    way = found.steps
    axes.plot(
        way["loc_1"],
        way["loc_2"],
        color=GREY,
        marker=".",
        linewidth=0.8,
        label="mean of q, coordinate ascent",
    )
    axes.set(xlim=(-3, 3), ylim=(-3, 4.6), xlabel="$z_1$", ylabel="$z_2$", aspect="equal")
    axes.set_title(f"correlation {correlation:g}; 1 and 2 deviations", fontsize="medium")


def _ring(size: dict[str, Any], look: Look, label: str) -> Ellipse:
    return Ellipse((0, 0), **size, fill=False, label=label, **look)


def _kinds(fits: pd.DataFrame) -> list[tuple[float, float]]:
    """Share and width of the parts, without how far they are apart, the first ones of the run."""
    kinds = fits[["share", "scale_of_part"]].drop_duplicates().to_numpy()[:MOST_ROWS]
    return [(float(share), float(scale)) for share, scale in kinds]


def _kind_name(share: float, scale: float) -> str:
    return Mixture(1.0, share, scale).name.replace("-1,", "-d,").replace("N(1,", "N(d,")


def _three(values: list[float]) -> list[float]:
    """The first, the middle and the last of rising values."""
    return [float(v) for v in dict.fromkeys([values[0], values[len(values) // 2], values[-1]])]


def _row(rows: pd.DataFrame, p: Mixture) -> pd.Series:
    return rows[rows["mixture"] == p.name].iloc[0]


def _density(grid: np.ndarray, row: pd.Series) -> np.ndarray:
    return np.exp(log_normal(grid, float(row["loc"]), float(row["scale"])))
