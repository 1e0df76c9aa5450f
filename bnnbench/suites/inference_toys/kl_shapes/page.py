"""The figures, in the style of the book's, and the page of a run on KL shapes."""

from __future__ import annotations

from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    PlotOptions,
    legend,
    new_figure,
)
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.kl_shapes import tables
from bnnbench.suites.inference_toys.kl_shapes.claims import claims
from bnnbench.suites.inference_toys.kl_shapes.experiment import KLShapes
from bnnbench.suites.inference_toys.kl_shapes.fitting import FORWARD, REVERSE, Mixture, log_normal
from bnnbench.suites.inference_toys.kl_shapes.tables import ORDER_NAMES

EXACT: PlotOptions = {"color": BLUE, "linewidth": 1.8}

STYLES: dict[float, PlotOptions] = {
    FORWARD: {"color": PALETTE[2], "linestyle": "--", "linewidth": 1.6},
    REVERSE: {"color": ORANGE, "linestyle": ":", "linewidth": 2.0},
}

MAX_ROWS = 4
"""Maximum number of rows of a figure."""

FIGURE_ORDERS = (-8.0, -1.0, 0.0, 1.0, 8.0)
"""Orders plotted as in the book's Fig. 3.12, if the run has them."""

figures = Figures(tables.read_run)


@figures(
    "Mixture p (solid) and the Gaussian q that minimises forward KL (dashed) or reverse KL "
    "(dotted), one row per kind of mixture and one column per separation of the components. Thin "
    "dotted lines: other local optima of reverse KL"
)
def directions(run: SavedTables) -> Figure:
    """Like the book's Fig. 3.9."""
    kinds, separations = _kinds(run), _first_middle_last(run)
    columns = len(separations)
    figure, panels = new_figure(2.9 * columns, 1.6 * len(kinds) + 0.5, columns, len(kinds))
    for axes, (kind, separation) in zip(panels, product(kinds, separations), strict=True):
        p = Mixture(separation, *kind)
        grid = _draw_mixture(axes, p)
        for order, style in STYLES.items():
            (best,) = _densities(run, grid, p, order, rank=0)
            axes.plot(grid, best, label=f"best q, {ORDER_NAMES[order]}", **style)
        thin = {**STYLES[REVERSE], "linewidth": 0.9, "alpha": 0.6}
        for other in _densities(run, grid, p, REVERSE)[1:]:
            axes.plot(grid, other, label="other local optima of reverse KL", **thin)
        axes.set_title(p.name, fontsize="small")
        axes.set_ylim(0, None)
    _label_edges(panels, columns, "density")
    legend(figure, panels[-1])
    return figure


@figures(
    "Mixture p (filled) and the Gaussian q that minimises the alpha-divergence (orange line), one "
    "row per mixture and one column per order alpha"
)
def orders(run: SavedTables) -> Figure:
    """Like the book's Fig. 3.12."""
    kinds, separations = _kinds(run), _first_middle_last(run)
    orders = [order for order in FIGURE_ORDERS if len(run.rows(tables.FITS, order=order))]
    figure, panels = new_figure(2.0 * len(orders), 1.5 * len(kinds) + 0.5, len(orders), len(kinds))
    for axes, (kind, order) in zip(panels, product(kinds, orders), strict=True):
        p = Mixture(separations[len(separations) // 2], *kind)
        grid = _draw_mixture(axes, p, fill=True)
        (best,) = _densities(run, grid, p, order, rank=0)
        axes.plot(grid, best, color=ORANGE, linewidth=1.6, label="best q")
        axes.set_ylabel(p.name.replace(" + ", "\n+ "), fontsize="small")
        axes.set_ylim(0, None)
    for axes, order in zip(panels, orders, strict=False):
        axes.set_title(f"alpha = {order:g}\n{ORDER_NAMES.get(order, '')}", fontsize="medium")
    _label_edges(panels, len(orders))
    legend(figure, panels[-1])
    return figure


@figures(
    "Standard deviation of the best q against the order alpha, one line per separation d of the "
    "components. Open circles: the scale stops at the largest value with a finite divergence; "
    "dotted vertical lines: reverse KL (alpha = -1) and forward KL (alpha = 1)"
)
def widths(run: SavedTables) -> Figure:
    """Plot one panel per kind of mixture."""
    kinds = _kinds(run)
    figure, panels = new_figure(2.7 * len(kinds) + 0.4, 3.2, len(kinds))
    for axes, (weight, scale) in zip(panels, kinds, strict=True):
        rows = run.rows(tables.FITS, rank=0, weight=weight, component_scale=scale)
        for index, (separation, fits) in enumerate(rows.groupby("separation")):
            style: PlotOptions = {"color": PALETTE[index % len(PALETTE)], "markersize": 4}
            label = f"d = {separation:g}"
            axes.plot(fits["order"], fits["scale"], "o-", **style, linewidth=1, label=label)
            at_bound = fits[fits["at_bound"] == 1]
            axes.plot(at_bound["order"], at_bound["scale"], "o", **style, markerfacecolor="white")
        for order in (REVERSE, FORWARD):
            axes.axvline(order, color=GREY, linewidth=0.6, linestyle=":")
        name = Mixture(1.0, weight, scale).name.replace("-1,", "-d,").replace("N(1,", "N(d,")
        axes.set_title(name, fontsize="medium")
        axes.set(xlabel="order alpha", ylim=(0, None))
    label = "largest scale with a finite divergence"
    panels[0].plot([], [], "o", color=GREY, markerfacecolor="white", label=label)
    panels[0].set_ylabel("standard deviation of the best q")
    legend(figure, panels[0], columns=run[tables.FITS]["separation"].nunique() + 1)
    return figure


@figures(
    "Left: ellipses of 1 and 2 standard deviations of a correlated Gaussian p and its best "
    "factorised approximations q; grey dots: mean of q during coordinate ascent. Right: reverse "
    "KL above its minimum after each update of a factor"
)
def factorised(run: SavedTables) -> Figure:
    """Plot the best factorised Gaussians for two correlated variables, and coordinate ascent."""
    figure, (left, right) = new_figure(8.6, 4.2, 2)
    rows, steps = run[tables.FACTORISED].set_index("divergence"), run[tables.COORDINATE_ASCENT]
    correlation = float(rows["correlation"].iloc[0])
    ellipses = [((1 + correlation) ** 0.5, (1 - correlation) ** 0.5, "p", EXACT)]
    for order, style in STYLES.items():
        deviation = float(rows["variance"][ORDER_NAMES[order]]) ** 0.5
        ellipses.append((deviation, deviation, f"best factorised q, {ORDER_NAMES[order]}", style))
    for multiple, (major, minor, name, style) in product((1, 2), ellipses):
        size = (2 * multiple * major, 2 * multiple * minor)
        label = name if multiple == 2 else "_inner"
        left.add_patch(Ellipse((0, 0), *size, angle=45.0, fill=False, label=label, **style))
    path: PlotOptions = {"color": GREY, "marker": ".", "linewidth": 0.8}
    left.plot(steps["loc_1"], steps["loc_2"], **path, label="mean of q, coordinate ascent")
    left.set(xlim=(-3, 3), ylim=(-3, 4.6), xlabel="$z_1$", ylabel="$z_2$", aspect="equal")
    left.set_title(f"correlation {correlation:g}; 1 and 2 standard deviations", fontsize="medium")
    left.legend(loc="upper left", fontsize="small", frameon=False)
    excess = (steps["reverse_kl"] + 0.5 * np.log1p(-(correlation**2))).clip(lower=1e-16)
    right.plot(steps["step"] / 2, excess, color=ORANGE, marker="o", markersize=3)
    right.set(xlabel="sweeps over both factors", ylabel="KL(q || p) above its minimum [nats]")
    right.set_yscale("log")
    right.set_title("coordinate ascent converges linearly", fontsize="medium")
    return figure


def _draw_mixture(axes: Axes, p: Mixture, fill: bool = False) -> np.ndarray:
    """Draw p and return the grid of its panel."""
    half_width = p.separation + 3.3 * p.max_scale
    grid = np.linspace(-half_width, half_width, 400)
    density = np.exp(p.log_density(grid))
    axes.plot(grid, density, label="p", **EXACT)
    if fill:
        axes.fill_between(grid, density, color=BLUE, alpha=0.15, linewidth=0)
    return grid


def _label_edges(panels: list[Axes], columns: int, ylabel: str | None = None) -> None:
    """Label the axes of a grid of panels at its left and its lower edge only."""
    for k, axes in enumerate(panels):
        axes.set_xlabel("x" if k >= len(panels) - columns else "")
        axes.set_ylabel("" if k % columns else ylabel or axes.get_ylabel())


def _densities(
    run: SavedTables, grid: np.ndarray, p: Mixture, order: float, **values: int
) -> list[np.ndarray]:
    """Return the density of every q fitted to p, the best first."""
    rows = run.rows(tables.FITS, mixture=p.name, order=order, **values)
    fits = zip(rows["loc"], rows["scale"], strict=True)
    return [np.exp(log_normal(grid, loc, scale)) for loc, scale in fits]


def _kinds(run: SavedTables) -> list[tuple[float, float]]:
    """Return weight and scale of the first kinds of mixtures, ignoring separations."""
    kinds = run[tables.FITS][["weight", "component_scale"]].drop_duplicates()[:MAX_ROWS]
    return list(kinds.itertuples(index=False, name=None))


def _first_middle_last(run: SavedTables) -> list[float]:
    """Return three separations, without duplicates."""
    values = sorted(run[tables.FITS]["separation"].unique().tolist())
    return list(dict.fromkeys([values[0], values[len(values) // 2], values[-1]]))


EXPERIMENT_PAGE = ExperimentPage(
    kind=KLShapes.kind,
    title="The Gaussian that minimises each divergence",
    caption="The best Gaussian q for a mixture p, by numerical minimisation. Exact: the moments of "
    "p, which forward KL matches, and closed forms for the correlated pair. If two optima are "
    "equally good, the table shows the one with the larger mean. Orders use the book's convention, "
    "alpha = 2 a - 1 for the order a of the GVI thesis.",
    figures=figures,
    statements=claims,
)
